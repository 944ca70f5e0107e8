package evaluator

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"pawl"
)

// Opinion is what came of asking. Its verdict is always one that is allowed, or human_review.
type Opinion struct {
	Verdict    pawl.VerdictWord `json:"verdict"`
	Confidence float64          `json:"confidence,omitempty"` // 0 to 1
	Reasons    []string         `json:"reasons,omitempty"`    // the evaluator's own, one line each
	Doubt      string           `json:"doubt,omitempty"`      // why there is no opinion, or none that is followed
	By         string           `json:"by,omitempty"`         // who was asked
	Cost       pawl.Usage       `json:"cost,omitzero"`
}

// What is kept of the reasons.
const (
	maxReasons = 10
	maxReason  = 400 // bytes
)

// parse reads an answer: one JSON object with verdict, confidence and reasons, in a code fence or not, and nothing else.
// Where the evaluator tells its cost itself, that may be there too.
func parse(answer string, allowed []pawl.VerdictWord, tellsCost bool) (Opinion, error) {
	known := []string{"verdict", "confidence", "reasons"}
	if tellsCost {
		known = append(known, "cost")
	}
	fields, err := object(unfenced(answer), known)
	if err != nil {
		return Opinion{}, err
	}
	for _, name := range known[:3] {
		if value := fields[name]; value == nil || string(value) == "null" {
			return Opinion{}, fmt.Errorf("it has no %q", name)
		}
	}
	var o Opinion
	for name, into := range map[string]any{"verdict": &o.Verdict, "confidence": &o.Confidence, "reasons": &o.Reasons} {
		if err := json.Unmarshal(fields[name], into); err != nil {
			return Opinion{}, fmt.Errorf("its %q is of the wrong type", name)
		}
	}
	if o.Cost, err = cost(fields["cost"]); err != nil {
		return Opinion{}, err
	}
	return o, o.check(allowed)
}

// check says what is wrong with an opinion that was read.
func (o Opinion) check(allowed []pawl.VerdictWord) error {
	words := []pawl.VerdictWord{pawl.Continue, pawl.Restart, pawl.Next, pawl.HumanReview}
	switch {
	case !slices.Contains(words, o.Verdict):
		return fmt.Errorf("%q is no verdict", clip(string(o.Verdict), 100))
	case o.Verdict != pawl.HumanReview && !slices.Contains(allowed, o.Verdict):
		return fmt.Errorf("the rules do not allow %q here", o.Verdict)
	case !(o.Confidence >= 0 && o.Confidence <= 1):
		return fmt.Errorf("its confidence is %g, not between 0 and 1", o.Confidence)
	case len(o.Reasons) == 0 || slices.ContainsFunc(o.Reasons, func(r string) bool { return oneLine(r, maxReason) == "" }):
		return errors.New("it gives no reason, or an empty one")
	}
	return nil
}

// cost reads what a command says that it has used.
func cost(data json.RawMessage) (pawl.Usage, error) {
	var usage pawl.Usage
	if data == nil {
		return usage, nil
	}
	fields, err := object(string(data), []string{"usd", "tokens"})
	if err != nil {
		return usage, fmt.Errorf("its cost: %w", err)
	}
	for name, into := range map[string]any{"usd": &usage.USD, "tokens": &usage.Tokens} {
		if fields[name] != nil && json.Unmarshal(fields[name], into) != nil {
			return usage, fmt.Errorf("its cost: %q is of the wrong type", name)
		}
	}
	if usage.USD < 0 || usage.Tokens < 0 {
		return usage, errors.New("its cost is negative")
	}
	return usage, nil
}

// object reads one JSON object whose keys are known and there once. Package json alone takes any keys, in any case, and
// the last of equal ones.
func object(text string, known []string) (map[string]json.RawMessage, error) {
	if !utf8.ValidString(text) {
		return nil, errors.New("it is not UTF-8")
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	if start, err := decoder.Token(); err != nil || start != json.Delim('{') {
		return nil, errors.New("it is not a JSON object")
	}
	fields := map[string]json.RawMessage{}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return nil, fmt.Errorf("it is not JSON: %w", err)
		}
		name, _ := token.(string)
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("it has an unknown key %q", clip(name, 100))
		}
		if fields[name] != nil {
			return nil, fmt.Errorf("it has %q twice", name)
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return nil, fmt.Errorf("it is not JSON: %w", err)
		}
		fields[name] = bytes.TrimSpace(value)
	}
	if _, err := decoder.Token(); err != nil {
		return nil, errors.New("it is cut off")
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows its JSON object")
	}
	return fields, nil
}

// unfenced returns what is in a code fence, where all of the answer is: language models add them unasked.
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

// oneLine returns a text for one line of a terminal: spaces for line ends, nothing that controls, at most limit bytes.
func oneLine(text string, limit int) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r), r == utf8.RuneError:
			return -1
		}
		return r
	}, text)
	return clip(strings.Join(strings.Fields(clean), " "), limit)
}
