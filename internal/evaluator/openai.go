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

// openAI asks a model with the chat-completions API, which many servers support.
type openAI struct {
	client *http.Client
	url    string
	model  string
	price  config.Price
	key    string // "": the server needs none
}

func newOpenAI(c Config, key string) openAI {
	base := c.BaseURL
	if base == "" {
		base = "https://api.openai.com/v1"
	}
	return openAI{newClient(), strings.TrimRight(base, "/") + "/chat/completions", c.Model, c.Price, key}
}

// chat is a request.
type chat struct {
	Model    string        `json:"model"`
	Messages []chatMessage `json:"messages"`
	Format   *chatFormat   `json:"response_format,omitempty"`
}

type chatMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type chatFormat struct {
	Type string `json:"type"`
}

// completion is the response.
type completion struct {
	Choices []struct {
		Message struct {
			Content string `json:"content"`
			Refusal string `json:"refusal"`
		} `json:"message"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage struct {
		Prompt     int64   `json:"prompt_tokens"`
		Completion int64   `json:"completion_tokens"`
		Cost       float64 `json:"cost"` // in dollars, if the server reports it
	} `json:"usage"`
}

func (o openAI) ask(ctx context.Context, evidence []byte) (answer, error) {
	q := chat{
		Model:    o.model,
		Messages: []chatMessage{{"system", Prompt}, {"user", question(evidence)}},
		Format:   &chatFormat{"json_object"},
	}
	done, err := o.post(ctx, q)
	if r, ok := errors.AsType[*statusError](err); ok && r.code == http.StatusBadRequest && strings.Contains(r.text, "response_format") {
		q.Format = nil // LM Studio and others do not support it; the answer is validated anyway
		done, err = o.post(ctx, q)
	}
	if err != nil {
		return answer{}, err
	}
	return o.read(done)
}

func (o openAI) post(ctx context.Context, q chat) (*completion, error) {
	headers := map[string]string{}
	if o.key != "" {
		headers["Authorization"] = "Bearer " + o.key
	}
	data, err := postJSON(ctx, o.client, o.url, q, headers)
	if err != nil {
		return nil, err
	}
	return parseCompletion(data)
}

func parseCompletion(data []byte) (*completion, error) {
	var done completion
	if err := json.Unmarshal(data, &done); err != nil {
		return nil, fmt.Errorf("the server returned no chat completion: %w", err)
	}
	return &done, nil
}

// read returns the text and the cost of a completion.
func (o openAI) read(done *completion) (answer, error) {
	u := done.Usage
	result := answer{cost: pawl.Usage{Tokens: u.Prompt + u.Completion, USD: u.Cost}}
	if u.Cost == 0 {
		result.cost.USD = price(o.price, u.Prompt, u.Completion)
	}
	if len(done.Choices) == 0 {
		return result, errors.New("the server returned an answer without choices")
	}
	choice := done.Choices[0]
	result.text = choice.Message.Content
	switch {
	case choice.Message.Refusal != "":
		return result, fmt.Errorf("the model refused: %s", choice.Message.Refusal)
	case choice.FinishReason != "stop" && choice.FinishReason != "":
		return result, fmt.Errorf("incomplete answer of the model: stop reason %q", choice.FinishReason)
	}
	return result, nil
}
