package transcript_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pawl/internal/transcript"
)

// TestPaths: where the calls of a session and its subagents may be recorded. An id that is no plain name leads nowhere.
func TestPaths(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(names ...string) string { return filepath.Join(append([]string{dir}, names...)...) }
	for _, path := range []string{at("chats", "s1", "a.jsonl"), at("chats", "s1", "b.jsonl"), at("chats", "s1", "c.txt"), at("other.jsonl")} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	home := map[string]string{"HOME": "/home/ann"}
	for _, test := range []struct {
		session transcript.Session
		env     map[string]string
		want    []string
	}{
		{transcript.Session{Agent: "claude", ID: "s1", Path: "/c/s1.jsonl"}, home, []string{"/c/s1.jsonl"}},
		{transcript.Session{Agent: "claude", ID: "s1", Sub: "a1", Path: "/c/s1.jsonl", Above: "/c/s1.jsonl"}, home, []string{"/c/s1/subagents/agent-a1.jsonl", "/c/s1.jsonl"}},
		{transcript.Session{Agent: "claude", ID: "s1", Sub: "a1", Above: "/c/s1.jsonl"}, home, []string{"/c/s1/subagents/agent-a1.jsonl", "/c/s1.jsonl"}},
		{transcript.Session{Agent: "claude", ID: "s1", Sub: "../../x", Path: "/c/s1.jsonl"}, home, []string{"/c/s1.jsonl"}},
		{transcript.Session{Agent: "claude", ID: "s1", Sub: "a1", Path: "/etc/passwd"}, home, []string{"/etc/passwd"}},
		{transcript.Session{Agent: "codex", ID: "s1", Sub: "t2", Path: "/r/t2.jsonl", Above: "/r/s1.jsonl"}, home, []string{"/r/t2.jsonl", "/r/s1.jsonl"}},
		{transcript.Session{Agent: "gemini", ID: "s1", Path: at("chats", "session-1.jsonl")}, home,
			[]string{at("chats", "session-1.jsonl"), at("chats", "s1", "a.jsonl"), at("chats", "s1", "b.jsonl")}},
		{transcript.Session{Agent: "gemini", ID: "..", Path: at("chats", "session-1.jsonl")}, home, []string{at("chats", "session-1.jsonl")}},
		{transcript.Session{Agent: "gemini", ID: "s1"}, home, nil},
		{transcript.Session{Agent: "copilot", ID: "s1", Sub: "a1"}, home, []string{"/home/ann/.copilot/session-state/s1/events.jsonl"}},
		{transcript.Session{Agent: "copilot", ID: "s1", Path: "/p"}, map[string]string{"HOME": "/home/ann", "COPILOT_HOME": "/srv"}, []string{"/p", "/srv/session-state/s1/events.jsonl"}},
		{transcript.Session{Agent: "copilot", ID: "s1"}, map[string]string{"COPILOT_HOME": "relative"}, nil},
		{transcript.Session{Agent: "copilot", ID: "../x"}, home, nil},
		{transcript.Session{Agent: "opencode", ID: "s1"}, home, nil},
	} {
		if got := test.session.Paths(func(name string) string { return test.env[name] }); !slices.Equal(got, test.want) {
			t.Errorf("%+v: %s, want %s", test.session, strings.Join(got, " "), strings.Join(test.want, " "))
		}
	}
}
