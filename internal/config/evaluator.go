package config

import (
	"net/url"

	"pawl"
)

// Evaluator says who is asked where recovery's rules leave several verdicts open. The zero value is nobody: a person
// decides.
type Evaluator struct {
	Provider   Provider      `yaml:"provider,omitempty"`   // command, anthropic or openai. Defaults to none.
	Command    string        `yaml:"command,omitempty"`    // for /bin/sh -c: evidence on its standard input, opinion on its output
	Model      string        `yaml:"model,omitempty"`      // the model's name, for anthropic and openai
	BaseURL    string        `yaml:"base_url,omitempty"`   // of the server. Defaults to the provider's own.
	Timeout    pawl.Duration `yaml:"timeout,omitempty"`    // for everything, a second try too. Defaults to 60s.
	Confidence float64       `yaml:"confidence,omitempty"` // an opinion with less is not followed. Defaults to 0.6.
	Price      Price         `yaml:"price,omitempty"`      // for the cost in dollars, where the server does not say it
}

// Price is what a million tokens cost, in US dollars. Defaults to unknown.
type Price struct {
	Input  float64 `yaml:"input,omitempty"`
	Output float64 `yaml:"output,omitempty"`
}

// Provider is a way to ask.
type Provider string

// The providers.
const (
	Command   Provider = "command"   // any program
	Anthropic Provider = "anthropic" // the Messages API, key in ANTHROPIC_API_KEY
	OpenAI    Provider = "openai"    // chat completions, of any server that offers them; key, if it needs one, in OPENAI_API_KEY
)

// check says which of the given values make no sense, and which are missing for the provider.
func (e *Evaluator) check(wrong func(pointer any, format string, args ...any)) {
	switch e.Provider {
	case Command:
		if e.Command == "" {
			wrong(&e.Provider, `"command" is missing: say which one is asked`)
		}
	case Anthropic, OpenAI:
		if e.Model == "" {
			wrong(&e.Provider, `"model" is missing: say which of the provider's models is asked`)
		}
	default:
		wrong(&e.Provider, `"provider" must be command, anthropic or openai, not %q`, e.Provider)
	}
	if e.Provider == "" && *e != (Evaluator{}) {
		wrong(e, `"provider" is missing: command, anthropic or openai`)
	}
	if u, err := url.Parse(e.BaseURL); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		wrong(&e.BaseURL, `"base_url" must be like https://example.com/v1`)
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
			wrong(p.value, "%q must be dollars for a million tokens", p.key)
		}
	}
}
