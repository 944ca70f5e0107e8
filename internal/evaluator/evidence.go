package evaluator

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"pawl"
	"pawl/internal/evidence"
	"pawl/internal/redact"
)

// What is told at most. Most models take more, but judge no better for it.
const (
	maxText = 8 << 10 // bytes of each text
	maxList = 200     // elements of each list
)

// encode returns the evidence as JSON, without secrets, and what is too long shortened. That comes last, since half a
// secret is not recognised; but what is far too long is shortened before as well, to take no time, with the rift where
// the last cut will be.
func encode(e evidence.Evidence, secrets *redact.Redactor) ([]byte, error) {
	data, err := json.Marshal(shortened(e, 64*maxText))
	if err != nil {
		return nil, fmt.Errorf("encode evidence: %w", err)
	}
	var clean evidence.Evidence
	if err := json.Unmarshal(secrets.JSON(data), &clean); err != nil {
		return nil, fmt.Errorf("redact evidence: %w", err)
	}
	return json.MarshalIndent(shortened(clean, maxText), "", "  ")
}

// shortened returns the evidence with no more than maxList elements in each list, and no more than limit bytes in each
// text; those that come in numbers get less. What is not named here is short by nature.
func shortened(e evidence.Evidence, limit int) evidence.Evidence {
	for _, text := range []*string{
		&e.Goal, &e.Plan, &e.LastAction, &e.Agent, &e.Step.Name, &e.Step.Goal, &e.Step.Action, &e.Outcome.Summary, &e.Outcome.Printed,
	} {
		*text = clip(*text, limit)
	}
	e.Step.Outputs = first(e.Step.Outputs, func(s *string) { *s = clip(*s, limit/8) })
	e.Outcome.Missing = first(e.Outcome.Missing, func(s *string) { *s = clip(*s, limit/8) })
	e.Outcome.Checks = first(e.Outcome.Checks, func(c *pawl.CheckRun) { c.Output = clip(c.Output, limit/4) })
	e.Changed.Files = first(e.Changed.Files, func(c *evidence.Change) { c.Path = clip(c.Path, limit/8) })
	e.Files.Files = first(e.Files.Files, func(path *string) { *path = clip(*path, limit/8) })
	e.Done = first(e.Done, func(t *evidence.Task) { t.Title = clip(t.Title, limit/8) })
	e.Findings = first(e.Findings, func(f *pawl.Finding) {
		f.What, f.Where, f.Evidence, f.Hint = clip(f.What, limit/8), clip(f.Where, limit/8), clip(f.Evidence, limit/8), clip(f.Hint, limit/8)
	})
	e.Step.Accept = maps.Clone(e.Step.Accept)
	for name, command := range e.Step.Accept {
		e.Step.Accept[name] = clip(command, limit/4)
	}
	return e
}

// first returns the first elements of a list, each changed by a function, and leaves the list as it is.
func first[T any](list []T, change func(*T)) []T {
	list = slices.Clone(list[:min(len(list), maxList)])
	for i := range list {
		change(&list[i])
	}
	return list
}

// clip returns a text of more than limit bytes without its middle.
func clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	head, tail := limit/2, len(text)-limit/2
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	return fmt.Sprintf("%s[… %d bytes left out …]%s", text[:head], tail-head, text[tail:])
}
