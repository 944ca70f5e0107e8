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

// Limits of the evidence. Most models accept more, but do not judge better with more.
const (
	maxText = 8 << 10 // bytes of each text
	maxList = 200     // elements of each list
)

// encode returns the evidence as JSON, redacted and then shortened: a truncated secret would not be recognized. Extremely long
// text is also shortened before redaction to save time; its gap lies within the later cut.
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
// text, and less in texts of a list. Fields that are not named here are always short.
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

// first returns a copy of the first elements of a list, each changed by a function.
func first[T any](list []T, change func(*T)) []T {
	list = slices.Clone(list[:min(len(list), maxList)])
	for i := range list {
		change(&list[i])
	}
	return list
}

// clip removes the middle of a text longer than limit bytes.
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
	return fmt.Sprintf("%s[… %d bytes omitted …]%s", text[:head], tail-head, text[tail:])
}
