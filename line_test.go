package pawl_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/executor/events"
)

// TestLine: each sort of line stands for one event, which says where it was read and, whatever the line says, of which
// attempt.
func TestLine(t *testing.T) {
	t.Parallel()
	source := pawl.Source{AttemptRef: itemRef("f", 3, 2), File: pawl.EventsFile, Offset: 77}
	half, all := 2.0, 4.0
	gate := pawl.Gate{Step: "f", Item: "i3", Type: pawl.DecisionFor, Ask: "which?", Options: []string{"a", "b"}, Default: "a"}
	gate.ID, gate.Source = gate.Identify(), &source
	for text, want := range map[string]pawl.Payload{
		`{"progress":{"text":"t","done":2,"total":4}}`: pawl.Progressed{AttemptRef: source.AttemptRef, Text: "t", Done: &half, Total: &all, Source: &source},
		`{"progress":{}}`: pawl.Progressed{AttemptRef: source.AttemptRef, Source: &source},
		`{"item":{"step":"other","item":"n","status":"done","commit":"c0"}}`: pawl.ItemNamed{Step: "f", Item: "n", Status: pawl.ItemIsDone, Commit: "c0", Source: &source},
		`{"progress":{"text":"t","usage":{"usd":0.5,"tokens":7}}}`:           pawl.Progressed{AttemptRef: source.AttemptRef, Text: "t", Usage: pawl.Usage{USD: 0.5, Tokens: 7}, Source: &source},
		`{"conversation":{"agent":"codex","id":"x","usage":{"tokens":7},"step":"other"}}`: pawl.Conversed{
			AttemptRef: source.AttemptRef, Conversation: pawl.Conversation{Agent: pawl.CodexCLI, ID: "x", Usage: pawl.Usage{Tokens: 7}}, Source: &source,
		},
		`{"learn":{"kind":"gotcha","text":"x"}}`:                                                           pawl.MemoryLearned{Memory: pawl.Memory{Kind: pawl.Gotcha, Text: "x"}, Source: &source},
		`{"decide":{"choice":"x","step":"other"}}`:                                                         pawl.DecisionMade{Decision: pawl.Decision{Choice: "x", Step: "f"}, Source: &source},
		`{"block":{"text":"no key","step":"other"}}`:                                                       pawl.BlockerOpened{Blocker: pawl.Blocker{Text: "no key", Step: "f"}, Source: &source},
		`{"ask":{"type":"decision","ask":"which?","options":["a","b"],"default":"a"}}`:                     pawl.GateOpened{Gate: gate},
		`{"checkpoint":{"kind":"manual","why":"w","step":"other","item":"x"}, "unknown": {"kept": "out"}}`: pawl.CheckpointSaved{Checkpoint: pawl.Checkpoint{Kind: pawl.CheckpointManual, Why: "w", Step: "f", Item: "i3", Source: &source}},
	} {
		line, err := events.ParseLine([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if diff := cmp.Diff(want, line.Payload(source, time.Time{})); diff != "" {
			t.Errorf("%s: -want +got\n%s", text, diff)
		}
	}
}

func TestParseLineRefuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		``, `{`, `[]`, `null`, `"x"`, `{}`, `{"sing":{}}`, `{"progress":null}`, `{"progress":5}`, `{"progress":{"done":"2"}}`,
		`{"progress":{},"learn":{"kind":"gotcha","text":"x"}}`,
	} {
		if line, err := events.ParseLine([]byte(text)); err == nil {
			t.Errorf("%q: accepted as %+v", text, line)
		}
	}
}
