package sessions

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pawl"
	"pawl/internal/operations"
	"pawl/internal/transcript"
)

// began is when the calls of these tests began.
var began = time.Date(2026, 11, 23, 10, 0, 0, 0, time.UTC)

// recorded writes an agent's record of a session.
func recorded(t *testing.T, path string, lines ...string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// claudeRefused is the refusal of a call in a record of Claude Code.
func claudeRefused(call string) string {
	return fmt.Sprintf(`{"type":"user","timestamp":"2026-11-23T10:00:01Z","toolDenialKind":"user-rejected","toolDenialBeforeRun":true,"message":{"content":[{"type":"tool_result","tool_use_id":%q,"is_error":true,"content":"no"}]}}`, call)
}

// doubt is a call without an outcome; without an id of the agent's, the fold has given it one.
func doubt(session pawl.SessionID, call string) *pawl.OperationState {
	return &pawl.OperationState{Operation: pawl.Operation{ID: pawl.OperationIDOf(session, call), Session: session}, Began: began}
}

func stateWith(transcripts map[pawl.SessionID]string) *pawl.State {
	s := &pawl.State{Sessions: map[pawl.SessionID]*pawl.SessionState{}}
	for id, path := range transcripts {
		s.Sessions[id] = &pawl.SessionState{SessionBegan: pawl.SessionBegan{Session: id, Transcript: path}}
	}
	return s
}

// TestSettleByCall finds the outcomes of calls that have ids: of a session, and of a subagent with a record of its own.
func TestSettleByCall(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	one := recorded(t, filepath.Join(dir, "one.jsonl"), claudeRefused("x"), claudeRefused("shared"))
	recorded(t, filepath.Join(dir, "one", "subagents", "agent-a1.jsonl"), claudeRefused("y"))
	s := stateWith(map[pawl.SessionID]string{
		"claude:one": one, "claude:gone": filepath.Join(dir, "gone.jsonl"), "claude:none": "", "emacs:one": one,
	})
	doubts := []*pawl.OperationState{
		doubt("claude:one", "x"), doubt("claude:one", "open"), doubt("claude:one/a1", "y"), doubt("claude:one/a1", "shared"), doubt("claude:one/../../x", "y"),
		doubt("claude:gone", "x"), doubt("claude:none", "x"), doubt("claude:unknown", "x"), doubt("emacs:one", "x"),
	}
	found := settle(t.Context(), s, doubts)
	if len(found) != 3 {
		t.Errorf("settled %v", found)
	}
	for _, id := range []pawl.OperationID{"claude:one#x", "claude:one/a1#y", "claude:one/a1#shared"} {
		if o := found[id]; o.Kind != transcript.Refused || o.By != transcript.Person {
			t.Errorf("%s: %+v", id, o)
		}
	}
}

// geminiCall is a call in a record of Gemini CLI.
func geminiCall(id, command, status string, at time.Time) string {
	return fmt.Sprintf(`{"type":"gemini","toolCalls":[{"id":%q,"name":"run_shell_command","args":{"command":%q},"status":%q,"timestamp":%q,`+
		`"result":[{"functionResponse":{"response":{"error":"[Operation Cancelled] Reason: User denied execution."}}}]}]}`, id, command, status, at.Format(time.RFC3339Nano))
}

// TestSettleByInput finds the outcomes of calls without ids, unless it is open which one a call is.
func TestSettleByInput(t *testing.T) {
	t.Parallel()
	at := func(seconds int) time.Time { return began.Add(time.Duration(seconds) * time.Second) }
	path := recorded(t, filepath.Join(t.TempDir(), "session.jsonl"),
		geminiCall("1", "git push", "cancelled", at(1)),
		geminiCall("2", "make", "success", at(-1)), geminiCall("3", "make", "cancelled", at(2)),
		geminiCall("4", "date", "success", at(1)), geminiCall("5", "date", "cancelled", at(2)),
		geminiCall("6", "old", "success", at(-1)))
	s := stateWith(map[pawl.SessionID]string{"gemini:one": path})
	var doubts []*pawl.OperationState
	for i, command := range []string{"git push", "make", "date", "old", "other"} {
		o := doubt("gemini:one", fmt.Sprint("event-", i))
		o.Digest = operations.Digest("run_shell_command", fmt.Appendf(nil, `{"command": %q}`, command))
		doubts = append(doubts, o)
	}
	found := settle(t.Context(), s, doubts)
	if len(found) != 2 || found["gemini:one#event-0"].Kind != transcript.Refused || found["gemini:one#event-1"].Kind != transcript.Refused {
		t.Errorf("settled %+v", found)
	}
}

// TestSettleIsBounded: many large records cost no more than the limits. What is near the end of a record is found first.
func TestSettleIsBounded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	filler := strings.Repeat("x", 1<<20)
	var lines []string
	for range 9 {
		lines = append(lines, `{"type":"user","message":{"content":"`+filler+`"}}`)
	}
	lines[6] = claudeRefused("early")
	lines = append(lines, claudeRefused("late"))
	paths := map[pawl.SessionID]string{}
	var doubts []*pawl.OperationState
	for i := range 8 {
		id := pawl.SessionIDOf("claude", fmt.Sprint(i), "")
		paths[id] = recorded(t, filepath.Join(dir, fmt.Sprint(i, ".jsonl")), lines...)
		early, late := doubt(id, "early"), doubt(id, "late")
		early.Seq, late.Seq = pawl.Seq(2*i), pawl.Seq(2*i+1)
		doubts = append(doubts, early, late)
	}
	found := settle(t.Context(), stateWith(paths), doubts)
	if len(found) == len(doubts) {
		t.Errorf("settled all %d calls of %d records of 8 MiB, of which it may read %d bytes", len(found), len(paths), transcriptBytes)
	}
	if _, newest := found["claude:7#late"]; len(found) > 0 && !newest {
		t.Errorf("settled %d calls, and not the newest", len(found))
	}
}
