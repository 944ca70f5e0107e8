package logview_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"pawl"
	"pawl/internal/cli/layout"
	"pawl/internal/cli/logview"
)

// TestEveryEvent: each type of event has words of its own, also without content.
func TestEveryEvent(t *testing.T) {
	t.Parallel()
	for _, event := range eventTypes(t) {
		text, _ := logview.Describe(pawl.Event{Type: event, Data: json.RawMessage("{}")})
		if text == "" || text == string(event) || strings.Contains(text, string(event)) {
			t.Errorf("%s: %q", event, text)
		}
	}
}

// eventTypes returns the types of events that package pawl declares.
func eventTypes(t *testing.T) []pawl.EventType {
	t.Helper()
	files, err := filepath.Glob("../../../*.go")
	if err != nil {
		t.Fatal(err)
	}
	declared := regexp.MustCompile(`Event\(\) EventType +\{ return "([a-z_.]+)" \}`)
	var types []pawl.EventType
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range declared.FindAllStringSubmatch(string(source), -1) {
			types = append(types, pawl.EventType(match[1]))
		}
	}
	if len(types) < 55 {
		t.Fatalf("only %d types: %s", len(types), types)
	}
	return types
}

// TestPrint: an event takes one line, in which long values are cut and control characters are shown.
func TestPrint(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 22, 21, 4, 43, 123456, time.FixedZone("", 3600))
	ref := pawl.AttemptRef{Step: "draft", Attempt: 2, Token: "t"}
	half := 50.0
	for _, c := range []struct {
		by      pawl.Author
		payload pawl.Payload
		want    string
	}{
		{pawl.Author{Kind: pawl.ByEngine}, pawl.AttemptStarted{AttemptRef: ref}, "     7  2026-11-22 20:04:43 UTC  engine        draft started (attempt 2)\n"},
		{pawl.Author{Kind: pawl.ByPerson, Name: "anna"}, pawl.GateAnswered{Gate: "3236cf98", Answer: pawl.Rejected, Why: "too\nshort\x1b[2J"},
			"     7  2026-11-22 20:04:43 UTC  anna          gate 3236cf98 rejected: too short\\u001b[2J\n"},
		{pawl.Author{Kind: pawl.ByStep, Name: "a-very-long-step"}, pawl.Progressed{AttemptRef: ref, Done: &half, Text: strings.Repeat("x", 500)},
			"     7  2026-11-22 20:04:43 UTC  step a-very…  draft progress 50%: " + strings.Repeat("x", 120) + "…\n"},
		{pawl.Author{Kind: pawl.ByEngine}, pawl.AttemptEnded{AttemptRef: ref, Outcome: pawl.Lost, Why: "its supervisor died", Verdict: &pawl.Verdict{Word: pawl.HumanReview, Rule: "unsafe"}},
			"     7  2026-11-22 20:04:43 UTC  engine        draft attempt 2 ended: crashed: its supervisor died; verdict: needs your decision (rule: unsafe)\n"},
	} {
		e, err := pawl.NewEvent(c.by, c.payload)
		if err != nil {
			t.Fatal(err)
		}
		e.Seq, e.Time = 7, at
		var out strings.Builder
		if err := logview.Print(&layout.Filter{Out: &out}, e, nil); err != nil || out.String() != c.want {
			t.Errorf("%v\n%q\nwant\n%q", err, out.String(), c.want)
		}
		out.Reset()
		if err := logview.Print(&layout.Filter{Out: &out, Paint: true}, e, nil); err != nil || !strings.Contains(out.String(), "\x1b[2m") || strings.Contains(out.String(), "\x1b[2J") {
			t.Errorf("%v, with colours: %q", err, out.String())
		}
	}
}
