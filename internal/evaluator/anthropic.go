package evaluator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"pawl"
	"pawl/internal/config"
)

// anthropicAPI asks a model with the Messages API.
type anthropicAPI struct {
	client *http.Client
	url    string
	model  string
	price  config.Price
	key    string
}

const (
	anthropicURL     = "https://api.anthropic.com"
	anthropicVersion = "2023-06-01" // of the API; the server requires it in each request

	// maxOutput is how many tokens the model may use for its answer and for thinking.
	maxOutput = 4096
)

// newAnthropic takes a base URL with or without the trailing /v1.
func newAnthropic(c Config, key string) anthropicAPI {
	base := c.BaseURL
	if base == "" {
		base = anthropicURL
	}
	base = strings.TrimSuffix(strings.TrimRight(base, "/"), "/v1")
	return anthropicAPI{newClient(), strings.TrimRight(base, "/") + "/v1/messages", c.Model, c.Price, key}
}

// messagesRequest is the body of a request to the Messages API.
type messagesRequest struct {
	Model     string      `json:"model"`
	MaxTokens int         `json:"max_tokens"`
	System    []textBlock `json:"system"`
	Messages  []userTurn  `json:"messages"`
}

type userTurn struct {
	Role    string      `json:"role"`
	Content []textBlock `json:"content"`
}

// textBlock is a block of content. In an answer, blocks of other types have no text that pawl reads.
type textBlock struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// messagesResponse is the model's answer.
type messagesResponse struct {
	Content    []textBlock   `json:"content"`
	StopReason string        `json:"stop_reason"`
	Usage      messagesUsage `json:"usage"`
}

type messagesUsage struct {
	Input       int64 `json:"input_tokens"`
	CacheWrites int64 `json:"cache_creation_input_tokens"`
	CacheReads  int64 `json:"cache_read_input_tokens"`
	Output      int64 `json:"output_tokens"`
}

func (a anthropicAPI) ask(ctx context.Context, evidence []byte) (answer, error) {
	if a.key == "" {
		return answer{}, errors.New("ANTHROPIC_API_KEY is not set")
	}
	data, err := postJSON(ctx, a.client, a.url, messagesRequest{
		Model:     a.model,
		MaxTokens: maxOutput,
		System:    []textBlock{{"text", Prompt}},
		Messages:  []userTurn{{"user", []textBlock{{"text", question(evidence)}}}},
	}, map[string]string{"X-Api-Key": a.key, "Anthropic-Version": anthropicVersion})
	if err != nil {
		return answer{}, err
	}
	return a.parse(data)
}

func (a anthropicAPI) parse(data []byte) (answer, error) {
	var message messagesResponse
	if err := json.Unmarshal(data, &message); err != nil {
		return answer{}, fmt.Errorf("the server returned no message: %w", err)
	}
	return a.read(message)
}

// read returns the text and the cost of an answer.
func (a anthropicAPI) read(message messagesResponse) (answer, error) {
	result := answer{cost: a.cost(message.Usage)}
	for _, block := range message.Content {
		if block.Type == "text" {
			result.text += block.Text
		}
	}
	if r := message.StopReason; r != "end_turn" && r != "stop_sequence" {
		return result, fmt.Errorf("incomplete answer of the model: stop reason %q", r)
	}
	return result, nil
}

func (a anthropicAPI) cost(u messagesUsage) pawl.Usage {
	input := u.Input + u.CacheWrites + u.CacheReads
	return pawl.Usage{Tokens: input + u.Output, USD: price(a.price, input, u.Output)}
}
