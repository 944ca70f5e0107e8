// Package evaluator asks a program or a language model what recovery's rules leave open.
//
// It promises an opinion that can be followed blindly: a verdict that the rules allow, or human_review with the reason.
// An answer that is late, missing, malformed, not allowed or unsure is human_review; nothing that a provider does stops a
// recovery, takes longer than the time limit, or leaves a process behind. evidence.Evidence is redacted before it leaves.
//
// It decides nothing itself, knows neither engine nor journal, and refuses to guess what a malformed answer meant.
package evaluator

import (
	"context"
	_ "embed" // the prompt
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/evidence"
	"pawl/internal/redact"
)

// Config says who is asked.
type Config = config.Evaluator

// The defaults of a Config.
const (
	DefaultTimeout    = pawl.Duration(time.Minute)
	DefaultConfidence = 0.6
)

// Prompt is what a language model is told before the evidence.
//
//go:embed prompt.md
var Prompt string

// maxAnswer is how many bytes an answer may have.
const maxAnswer = 1 << 20

// retryPause is how long to wait before the second try, where the server does not say.
const retryPause = 200 * time.Millisecond

// An Evaluator asks for opinions. A nil one asks nobody.
type Evaluator struct {
	config   Config
	provider provider
	secrets  *redact.Redactor
}

// provider is a way to ask. It returns when ctx ends, and by then nothing that it started is alive.
type provider interface {
	// ask returns the answer to the evidence, word for word. A *passing error may be gone the next time.
	ask(ctx context.Context, evidence []byte) (answer, error)
}

// answer is what a provider was told.
type answer struct {
	text string
	cost pawl.Usage
}

// passing is trouble that may pass.
type passing struct {
	err   error
	after time.Duration // when to try again; 0: soon
}

func (p *passing) Error() string { return p.err.Error() }
func (p *passing) Unwrap() error { return p.err }

// New returns the evaluator that a project asks; nil where it asks none. A command runs in dir with these variables, of
// which others give the keys of the providers; the values of the secret ones among them are redacted.
func New(c Config, dir string, environ []string) *Evaluator {
	e := &Evaluator{config: c, secrets: redact.New(environ)}
	switch c.Provider {
	case config.Command:
		e.provider = command{text: c.Command, dir: dir, environ: environ}
	case config.Anthropic:
		e.provider = newAnthropic(c, lookup(environ, "ANTHROPIC_API_KEY"))
	case config.OpenAI:
		e.provider = newOpenAI(c, lookup(environ, "OPENAI_API_KEY"))
	default:
		return nil
	}
	if e.config.Timeout == 0 {
		e.config.Timeout = DefaultTimeout
	}
	if e.config.Confidence == 0 {
		e.config.Confidence = DefaultConfidence
	}
	return e
}

// Name says who is asked, for people: "anthropic claude-…", "command".
func (e *Evaluator) Name() string {
	if e == nil {
		return ""
	}
	return strings.TrimSpace(string(e.config.Provider) + " " + e.config.Model)
}

// Ask returns an opinion about the evidence. It takes no longer than the time limit, and never fails: whatever goes wrong
// is human_review, with the reason in Doubt.
func (e *Evaluator) Ask(ctx context.Context, evidence evidence.Evidence) Opinion {
	if e == nil {
		return Opinion{Verdict: pawl.HumanReview, Doubt: "no evaluator is set up"}
	}
	o, err := e.opinion(ctx, evidence)
	o.By = e.Name()
	for i, reason := range o.Reasons[:min(len(o.Reasons), maxReasons)] {
		o.Reasons[i] = oneLine(e.secrets.Text(reason), maxReason)
	}
	o.Reasons = o.Reasons[:min(len(o.Reasons), maxReasons)]
	switch {
	case err != nil:
		o.Doubt = oneLine(e.secrets.Text(err.Error()), 2*maxReason)
		o.Verdict, o.Confidence, o.Reasons = pawl.HumanReview, 0, nil
	case o.Verdict != pawl.HumanReview && o.Confidence < e.config.Confidence:
		o.Doubt = fmt.Sprintf("it says %s, but with a confidence of %.2f only; %.2f is needed", o.Verdict, o.Confidence, e.config.Confidence)
		o.Verdict = pawl.HumanReview
	}
	return o
}

// opinion returns what was answered, or why there is no opinion. The cost is there in either case.
func (e *Evaluator) opinion(ctx context.Context, evidence evidence.Evidence) (Opinion, error) {
	open := func(word pawl.VerdictWord) bool { return word != pawl.HumanReview }
	if !slices.ContainsFunc(evidence.Allowed, open) {
		return Opinion{}, errors.New("the rules leave nothing open")
	}
	encoded, err := encode(evidence, e.secrets)
	if err != nil {
		return Opinion{}, err
	}
	limit := time.Duration(e.config.Timeout)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer within %s", e.config.Timeout))
	defer cancel()
	answer, err := e.askTwice(ctx, encoded)
	if err != nil {
		return Opinion{Cost: answer.cost}, err
	}
	o, err := parse(answer.text, evidence.Allowed, e.config.Provider == config.Command)
	o.Cost = o.Cost.Add(answer.cost)
	if err != nil {
		return o, fmt.Errorf("the answer is of no use: %w", err)
	}
	return o, nil
}

// askTwice asks, and once more after trouble that may pass, if there is time for that.
func (e *Evaluator) askTwice(ctx context.Context, evidence []byte) (answer, error) {
	a, err := e.provider.ask(ctx, evidence)
	trouble, ok := errors.AsType[*passing](err)
	if !ok || ctx.Err() != nil {
		return a, late(ctx, err)
	}
	if end, limited := ctx.Deadline(); limited && time.Until(end) <= trouble.after {
		return a, fmt.Errorf("%w; it asks to come back in %s, which is too late", err, trouble.after.Round(time.Second))
	}
	pause := time.NewTimer(max(trouble.after, retryPause))
	defer pause.Stop()
	select {
	case <-ctx.Done():
		return a, late(ctx, err)
	case <-pause.C:
	}
	a, err = e.provider.ask(ctx, evidence)
	return a, late(ctx, err)
}

// late returns why ctx ended, where that made a call fail.
func late(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// lookup returns the value of a variable, "" where there is none. As everywhere, the last one counts.
func lookup(environ []string, name string) string {
	for _, v := range slices.Backward(environ) {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}
