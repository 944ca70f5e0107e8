// Package evaluator asks a program or a language model to choose between the verdicts that recovery's rules leave open.
//
// Its opinion is always safe to follow: a verdict that the rules allow, or human_review with the reason. An answer that is
// late, missing, malformed, not allowed or unsure becomes human_review. No provider can stop a recovery, exceed the time
// limit, or leave a process behind. evidence.Evidence is redacted before it leaves.
//
// It decides nothing itself, imports neither engine nor journal, and does not interpret malformed answers.
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

// Config selects the provider and its settings.
type Config = config.Evaluator

// The defaults of a Config.
const (
	DefaultTimeout    = pawl.Duration(time.Minute)
	DefaultConfidence = 0.6
)

// Prompt is the system prompt for a language model.
//
//go:embed prompt.md
var Prompt string

// maxAnswer is the maximum size of an answer in bytes.
const maxAnswer = 1 << 20

// retryPause is the delay before the second try if the server sends no Retry-After.
const retryPause = 200 * time.Millisecond

// An Evaluator asks a provider for opinions. A nil Evaluator has no provider.
type Evaluator struct {
	config   Config
	provider provider
	secrets  *redact.Redactor
}

// provider is a program or a model. It returns when ctx ends; by then no process that it started is alive.
type provider interface {
	// ask returns the raw answer. A *temporary error may be worth a retry.
	ask(ctx context.Context, evidence []byte) (answer, error)
}

// answer is a provider's answer.
type answer struct {
	text string
	cost pawl.Usage
}

// temporary is an error after which a retry may succeed.
type temporary struct {
	err   error
	after time.Duration // minimum delay before a retry; 0: none
}

func (t *temporary) Error() string { return t.err.Error() }
func (t *temporary) Unwrap() error { return t.err }

// New returns the evaluator of a project, nil if none is configured. A command runs in dir with environ. The API keys come
// from environ, and the values of its secret variables are redacted.
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

// Name returns the provider and model for people: "anthropic claude-…", "command".
func (e *Evaluator) Name() string {
	if e == nil {
		return ""
	}
	return strings.TrimSpace(string(e.config.Provider) + " " + e.config.Model)
}

// Ask returns an opinion about the evidence within the time limit. It never fails: any error becomes human_review with the
// reason in Doubt.
func (e *Evaluator) Ask(ctx context.Context, evidence evidence.Evidence) Opinion {
	if e == nil {
		return Opinion{Verdict: pawl.HumanReview, Doubt: "no evaluator is configured"}
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
		o.Doubt = fmt.Sprintf("it answered %s with confidence %.2f, below the minimum of %.2f", o.Verdict, o.Confidence, e.config.Confidence)
		o.Verdict = pawl.HumanReview
	}
	return o
}

// opinion returns the parsed answer or an error. It sets the cost in both cases.
func (e *Evaluator) opinion(ctx context.Context, evidence evidence.Evidence) (Opinion, error) {
	open := func(word pawl.VerdictWord) bool { return word != pawl.HumanReview }
	if !slices.ContainsFunc(evidence.Allowed, open) {
		return Opinion{}, errors.New("the rules allow no other verdict")
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
		return o, fmt.Errorf("invalid answer: %w", err)
	}
	return o, nil
}

// askTwice asks, and retries once after a temporary error if there is time.
func (e *Evaluator) askTwice(ctx context.Context, evidence []byte) (answer, error) {
	a, err := e.provider.ask(ctx, evidence)
	failure, ok := errors.AsType[*temporary](err)
	if !ok || ctx.Err() != nil {
		return a, causeOf(ctx, err)
	}
	if end, limited := ctx.Deadline(); limited && time.Until(end) <= failure.after {
		return a, fmt.Errorf("%w; it asks to retry in %s, after the time limit", err, failure.after.Round(time.Second))
	}
	pause := time.NewTimer(max(failure.after, retryPause))
	defer pause.Stop()
	select {
	case <-ctx.Done():
		return a, causeOf(ctx, err)
	case <-pause.C:
	}
	a, err = e.provider.ask(ctx, evidence)
	return a, causeOf(ctx, err)
}

// causeOf replaces an error by the cause of ctx if ctx has ended.
func causeOf(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// lookup returns the value of a variable, "" if it is not set. The last one counts.
func lookup(environ []string, name string) string {
	for _, v := range slices.Backward(environ) {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}
