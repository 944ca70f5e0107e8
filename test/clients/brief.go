package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"slices"
	"strconv"
	"strings"
)

// brief is the brief in the first request of an agent to its model.
type brief struct{ text string }

// briefTitle is how each brief begins.
const briefTitle = "# Brief of run"

// briefIn finds the brief in the first request of a conversation.
func briefIn(conversation []request) (brief, error) {
	if len(conversation) == 0 {
		return brief{}, errors.New("the model got no request")
	}
	for _, text := range conversation[0].texts() {
		if _, from, found := strings.Cut(text, briefTitle); found {
			text, _, _ := strings.Cut(html.UnescapeString(briefTitle+from), "</hook_context>") // as Gemini CLI wraps it
			return brief{text}, nil
		}
	}
	return brief{}, errors.New("the first request to the model contains no brief")
}

// section returns the text below the heading that contains these words; "" if there is none.
func (b brief) section(words string) string {
	for _, section := range strings.Split(b.text, "\n## ")[1:] {
		heading, body, _ := strings.Cut(section, "\n")
		if strings.Contains(heading, words) {
			return body
		}
	}
	return ""
}

// verdict is the verdict on the operation in doubt.
func (b brief) verdict() string {
	doubt := b.section("in doubt")
	for _, word := range []string{"not done", "partly", "unknown", "done"} {
		if strings.Contains(doubt, word) {
			return word
		}
	}
	return "nothing"
}

// tells checks that the brief is true, and does not propose finished work.
func (b brief) tells(t truth) error {
	doubt := b.section("in doubt")
	evidence := strings.ReplaceAll(doubt, t.command, "")
	var errs []error
	for what, holds := range map[string]bool{
		"the command in doubt":                        strings.Contains(doubt, "until test -e"),
		"when it began":                               strings.Contains(doubt, t.began.UTC().Format("15:04:05")),
		"whose it was":                                strings.Contains(doubt, t.agent),
		"that it was done partly":                     b.verdict() == "partly",
		"that step1.txt was changed":                  strings.Contains(evidence, "step1.txt"),
		"its process, just as far as that is alive":   t.dying() || strings.Contains(evidence, strconv.Itoa(t.pid)) == t.alive,
		"finished work nowhere but under its heading": !b.asksFor("notes.md") && !b.asksFor("count.txt"),
	} {
		if !holds {
			errs = append(errs, fmt.Errorf("the brief does not report %s", what))
		}
	}
	if len(errs) > 0 {
		errs = append(errs, errors.New(b.text))
	}
	return errors.Join(errs...)
}

// asksFor reports whether the brief lists something as in doubt or as next.
func (b brief) asksFor(file string) bool {
	return strings.Contains(b.section("in doubt")+b.section("next"), file)
}

// dying reports whether the process ended while the brief was written.
func (t truth) dying() bool { return t.alive && !t.aliveAfter }

// texts are all texts in a request, at any depth.
func (r request) texts() []string {
	var all any
	if err := json.Unmarshal(r.body, &all); err != nil {
		return []string{string(r.body)}
	}
	return textsIn(all)
}

func textsIn(value any) []string {
	var texts []string
	switch value := value.(type) {
	case string:
		return []string{value}
	case []any:
		for _, each := range value {
			texts = slices.Concat(texts, textsIn(each))
		}
	case map[string]any:
		for _, each := range value {
			texts = slices.Concat(texts, textsIn(each))
		}
	}
	return texts
}
