package evaluator

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"pawl"
	"pawl/internal/config"
)

// anthropicAPI asks a model by the Messages API.
type anthropicAPI struct {
	messages anthropic.MessageService
	model    string
	price    config.Price
	key      string
}

// maxOutput is how many tokens a model may use for its answer, and for thinking about it.
const maxOutput = 4096

func newAnthropic(c Config, key string) anthropicAPI {
	options := []option.RequestOption{ // nothing that the SDK would take from the environment
		option.WithEnvironmentProduction(),
		option.WithAPIKey(key),
		option.WithHTTPClient(newClient()),
		option.WithMaxRetries(0), // we retry ourselves, within our limit
		option.WithoutOpenTelemetry(),
	}
	if c.BaseURL != "" {
		options = append(options, option.WithBaseURL(strings.TrimSuffix(strings.TrimRight(c.BaseURL, "/"), "/v1")))
	}
	return anthropicAPI{anthropic.NewMessageService(options...), c.Model, c.Price, key}
}

func (a anthropicAPI) ask(ctx context.Context, evidence []byte) (answer, error) {
	if a.key == "" {
		return answer{}, errors.New("ANTHROPIC_API_KEY is not set")
	}
	message, err := a.messages.New(ctx, anthropic.MessageNewParams{
		Model:     a.model,
		MaxTokens: maxOutput,
		System:    []anthropic.TextBlockParam{{Text: Prompt}},
		Messages:  []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(question(evidence)))},
	})
	if carried := plain(err); carried != err {
		return answer{}, carried
	} else if err != nil {
		return answer{}, fmt.Errorf("the server's answer is no message: %w", err)
	}
	told := answer{cost: a.cost(message.Usage)}
	for _, block := range message.Content {
		if block.Type == "text" {
			told.text += block.Text
		}
	}
	if r := message.StopReason; r != anthropic.StopReasonEndTurn && r != anthropic.StopReasonStopSequence {
		return told, fmt.Errorf("the model did not finish its answer: %q", r)
	}
	return told, nil
}

func (a anthropicAPI) cost(u anthropic.Usage) pawl.Usage {
	input := u.InputTokens + u.CacheCreationInputTokens + u.CacheReadInputTokens
	return pawl.Usage{Tokens: input + u.OutputTokens, USD: price(a.price, input, u.OutputTokens)}
}
