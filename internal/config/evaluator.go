package config

import (
	"net/url"

	"pawl"
)

// Evaluator configures the program or model that chooses a verdict if recovery's rules leave several open. With the
// zero value, a person decides.
type Evaluator struct {
	Provider   Provider      `yaml:"provider,omitempty"`   // command, anthropic or openai. Defaults to none.
	Command    string        `yaml:"command,omitempty"`    // passed to /bin/sh -c: reads the evidence on standard input and prints its opinion
	Model      string        `yaml:"model,omitempty"`      // name of the model, for anthropic and openai
	BaseURL    string        `yaml:"base_url,omitempty"`   // URL of the server. Defaults to the provider's own.
	Timeout    pawl.Duration `yaml:"timeout,omitempty"`    // total time, including a retry. Defaults to 60s.
	Confidence float64       `yaml:"confidence,omitempty"` // minimum confidence of an opinion that is followed. Defaults to 0.6.
	Price      Price         `yaml:"price,omitempty"`      // used to compute the cost, if the server does not report it
}

// Price is the price of a million tokens, in US dollars. Defaults to unknown.
type Price struct {
	Input  float64 `yaml:"input,omitempty"`
	Output float64 `yaml:"output,omitempty"`
}

// Provider is a kind of evaluator.
type Provider string

// Kinds of evaluators.
const (
	Command   Provider = "command"   // any program
	Anthropic Provider = "anthropic" // the Messages API, with the key in ANTHROPIC_API_KEY
	OpenAI    Provider = "openai"    // the chat completions API of any server, with the key, if it needs one, in OPENAI_API_KEY
)

// check reports invalid values among those that the file sets, and values that the provider requires.
func (e *Evaluator) check(wrong func(pointer any, format string, args ...any)) {
	switch e.Provider {
	case Command:
		if e.Command == "" {
			wrong(&e.Provider, `"command" is missing: set the command to run`)
		}
	case Anthropic, OpenAI:
		if e.Model == "" {
			wrong(&e.Provider, `"model" is missing: set the provider's model to ask`)
		}
	default:
		wrong(&e.Provider, `"provider" must be command, anthropic or openai, not %q`, e.Provider)
	}
	if e.Provider == "" && *e != (Evaluator{}) {
		wrong(e, `"provider" is missing: command, anthropic or openai`)
	}
	if u, err := url.Parse(e.BaseURL); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		wrong(&e.BaseURL, `"base_url" must be a URL such as https://example.com/v1`)
	}
	if e.Timeout == 0 {
		wrong(&e.Timeout, `"timeout" must be greater than 0; use a form such as 90s, 4m or 1h30m`)
	}
	if !(e.Confidence > 0 && e.Confidence <= 1) {
		wrong(&e.Confidence, `"confidence" must be greater than 0 and at most 1`)
	}
	for _, p := range []struct {
		value *float64
		key   string
	}{{&e.Price.Input, "input"}, {&e.Price.Output, "output"}} {
		if !(*p.value >= 0 && *p.value < 1e6) {
			wrong(p.value, "%q must be the price in dollars of a million tokens", p.key)
		}
	}
}
