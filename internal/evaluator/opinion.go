package evaluator

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"pawl"
	"pawl/internal/oneline"
)

// Opinion is the result of asking. Its verdict is always an allowed one or human_review.
type Opinion struct {
	Verdict    pawl.VerdictWord `json:"verdict"`
	Confidence float64          `json:"confidence,omitempty"` // 0 to 1
	Reasons    []string         `json:"reasons,omitempty"`    // the evaluator's own, one line each
	Doubt      string           `json:"doubt,omitempty"`      // why the answer was not followed
	By         string           `json:"by,omitempty"`         // name of the evaluator
	Cost       pawl.Usage       `json:"cost,omitzero"`
}

// Limits of the reasons.
const (
	maxReasons = 10
	maxReason  = 400 // bytes
)

// parse parses an answer: exactly one JSON object with verdict, confidence and reasons, with or without a code fence. If
// withCost is set, it may contain the cost.
func parse(answer string, allowed []pawl.VerdictWord, withCost bool) (Opinion, error) {
	known := []string{"verdict", "confidence", "reasons"}
	if withCost {
		known = append(known, "cost")
	}
	fields, err := object(unfenced(answer), known)
	if err != nil {
		return Opinion{}, err
	}
	for _, name := range known[:3] {
		if value := fields[name]; value == nil || string(value) == "null" {
			return Opinion{}, fmt.Errorf("missing %q", name)
		}
	}
	var o Opinion
	for name, into := range map[string]any{"verdict": &o.Verdict, "confidence": &o.Confidence, "reasons": &o.Reasons} {
		if err := json.Unmarshal(fields[name], into); err != nil {
			return Opinion{}, fmt.Errorf("%q has the wrong type", name)
		}
	}
	if o.Cost, err = cost(fields["cost"]); err != nil {
		return Opinion{}, err
	}
	return o, o.check(allowed)
}

// check validates a parsed opinion.
func (o Opinion) check(allowed []pawl.VerdictWord) error {
	words := []pawl.VerdictWord{pawl.Continue, pawl.Restart, pawl.Next, pawl.HumanReview}
	switch {
	case !slices.Contains(words, o.Verdict):
		return fmt.Errorf("unknown verdict %q", clip(string(o.Verdict), 100))
	case o.Verdict != pawl.HumanReview && !slices.Contains(allowed, o.Verdict):
		return fmt.Errorf("the rules do not allow %q here", o.Verdict)
	case !(o.Confidence >= 0 && o.Confidence <= 1):
		return fmt.Errorf("confidence %g is not between 0 and 1", o.Confidence)
	case len(o.Reasons) == 0 || slices.ContainsFunc(o.Reasons, func(r string) bool { return oneLine(r, maxReason) == "" }):
		return errors.New("no reason, or an empty one")
	}
	return nil
}

// cost parses the usage that a command reports.
func cost(data json.RawMessage) (pawl.Usage, error) {
	var usage pawl.Usage
	if data == nil {
		return usage, nil
	}
	fields, err := object(string(data), []string{"usd", "tokens"})
	if err != nil {
		return usage, fmt.Errorf("cost: %w", err)
	}
	for name, into := range map[string]any{"usd": &usage.USD, "tokens": &usage.Tokens} {
		if fields[name] != nil && json.Unmarshal(fields[name], into) != nil {
			return usage, fmt.Errorf("cost: %q has the wrong type", name)
		}
	}
	if usage.USD < 0 || usage.Tokens < 0 {
		return usage, errors.New("negative cost")
	}
	return usage, nil
}

// object parses one JSON object with known, unique keys. Package json alone accepts unknown keys, ignores case, and uses the
// last of duplicate keys.
func object(text string, known []string) (map[string]json.RawMessage, error) {
	if !utf8.ValidString(text) {
		return nil, errors.New("not valid UTF-8")
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	if start, err := decoder.Token(); err != nil || start != json.Delim('{') {
		return nil, errors.New("not a JSON object")
	}
	fields := map[string]json.RawMessage{}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return nil, fmt.Errorf("invalid JSON: %w", err)
		}
		name, _ := token.(string)
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("unknown key %q", clip(name, 100))
		}
		if fields[name] != nil {
			return nil, fmt.Errorf("duplicate key %q", name)
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return nil, fmt.Errorf("invalid JSON: %w", err)
		}
		fields[name] = bytes.TrimSpace(value)
	}
	if _, err := decoder.Token(); err != nil {
		return nil, errors.New("truncated JSON")
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("data after the JSON object")
	}
	return fields, nil
}

// unfenced removes a code fence around the whole answer, which language models often add.
func unfenced(answer string) string {
	answer = strings.TrimSpace(answer)
	inner, fenced := strings.CutPrefix(answer, "```")
	if !fenced {
		return answer
	}
	language, inner, _ := strings.Cut(inner, "\n")
	inner, closed := strings.CutSuffix(inner, "```")
	if language = strings.TrimSpace(language); !closed || language != "" && language != "json" {
		return answer
	}
	return inner
}

// oneLine returns text as one line of at most limit bytes without control characters.
func oneLine(text string, limit int) string {
	return clip(oneline.Printable(text), limit)
}
