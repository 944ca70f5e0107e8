package hook_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl/internal/agents/agentstest"
	"pawl/internal/hook"
)

// hostile are payloads that no agent sends.
var hostile = map[string]string{
	"nothing": "", "space": " \n\t", "null": "null", "a number": "17", "a list": "[]", "an open object": "{", "no JSON": "hello",
	"half": `{"hook_event_name":"SessionStart","session_id":"s`, "binary": "\x00\x01\xff\xfe", "wrong types": `{"hook_event_name":7,"session_id":[],"cwd":{}}`,
	"no event": `{"session_id":"s1"}`, "unknown event": `{"hook_event_name":"Nothing","session_id":"s1"}`,
	"deep":      strings.Repeat("[", 20000),
	"long name": `{"hook_event_name":"` + strings.Repeat("x", 1<<20) + `"}`,
	"NUL":       `{"hook_event_name":"PreToolUse","session_id":"a\u0000b","cwd":"/\u0000","tool_name":"\u0000","tool_input":"\u0000"}`,
}

// TestHostilePayloads sends what no agent sends. The agent accepts each answer, and no test ends in a panic.
func TestHostilePayloads(t *testing.T) {
	t.Parallel()
	for _, name := range agentNames {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			y := newYard(t)
			y.env = append(y.env, "PAWL_PROJECT="+y.Root)
			for what, payload := range hostile {
				if got := y.send(name, "SessionStart", []byte(payload)); got != (agentstest.Answer{}) {
					t.Errorf("%s: %+v", what, got)
				}
			}
			if y.noted() == "" {
				t.Error("nothing is in the log")
			}
			y.leaveDoubt()
			if got := y.call(y.agent(name, "s1"), "SessionStart", "", nil); got.Context == "" {
				t.Error("a session after that is told nothing")
			}
		})
	}
}

// TestUnknownAgent calls the hook of an agent that there is none of. It prints nothing, and the log says so.
func TestUnknownAgent(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	var out bytes.Buffer
	hook.Run(t.Context(), "nobody", strings.NewReader("{}"), &out, hook.Config{Environ: []string{"PAWL_PROJECT=" + y.Root}})
	if out.Len() > 0 || !strings.Contains(y.noted(), "nobody") {
		t.Errorf("printed %q, log %q", &out, y.noted())
	}
}

// TestNoProject calls hooks where no project is. Nothing is written.
func TestNoProject(t *testing.T) {
	t.Parallel()
	for _, name := range agentNames {
		y := newYard(t)
		y.Root = t.TempDir()
		y.write("a.txt", "one\n")
		before := files(t, y.Root)
		shapes, err := agentstest.Shapes(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, shape := range shapes {
			if got := y.call(y.agent(name, "s1"), shape.Name, "", nil); got != (agentstest.Answer{}) {
				t.Errorf("%s %s: %+v", name, shape.Name, got)
			}
		}
		if diff := cmp.Diff(before, files(t, y.Root)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestProjectOfAgent finds the project by the agent's variable, from a folder that is gone, and not from a relative folder.
func TestProjectOfAgent(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	elsewhere := t.TempDir()
	for _, c := range []struct {
		env, dir string
		want     bool
	}{
		{"CLAUDE_PROJECT_DIR=" + y.Root, elsewhere, true},
		{"", filepath.Join(y.Root, "gone", "away"), true},
		{"", elsewhere, false},
		{"CLAUDE_PROJECT_DIR=relative", elsewhere, false},
		{"PAWL_PROJECT=" + elsewhere, y.Root, false},
	} {
		a, before := y.agent("claude", "s1"), len(y.events())
		y.env, a.Dir = []string{c.env}, c.dir
		y.call(a, "UserPromptSubmit", "", nil)
		if got := len(y.events()) > before; got != c.want {
			t.Errorf("%q in %s: journaled: %t", c.env, c.dir, got)
		}
	}
}

// TestBrokenProject calls hooks in projects that cannot be written or read. The agent is not disturbed, and the log says why.
func TestBrokenProject(t *testing.T) {
	t.Parallel()
	for what, damage := range map[string]func(y *yard) error{
		"runs is a file": func(y *yard) error {
			return errors.Join(os.RemoveAll(y.Runs()), os.WriteFile(y.Runs(), nil, 0o600))
		},
		"no project.json": func(y *yard) error { return os.WriteFile(filepath.Join(y.Home(), "project.json"), []byte("{"), 0o600) },
		"the run is gone": func(y *yard) error {
			y.env = append(y.env, "PAWL_RUN=nothing-20260101-000000-0000", "PAWL_EVENTS="+y.Root+"/events")
			return nil
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			for _, name := range agentNames {
				y := newYard(t)
				if err := damage(y); err != nil {
					t.Fatal(err)
				}
				y.env = append(y.env, "PAWL_PROJECT="+y.Root)
				before := strings.Count(y.noted(), "\n")
				y.call(y.agent(name, "s1"), "SessionStart", "", nil)
				if what != "no project.json" && strings.Count(y.noted(), "\n") == before {
					t.Errorf("%s: nothing is in the log", name)
				}
			}
		})
	}
}

// broken is a pipe that nobody reads.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// TestUnreadAnswer prints to a pipe that nobody reads. The log says so, and the session does not count as told.
func TestUnreadAnswer(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	y.env = append(y.env, "PAWL_PROJECT="+y.Root)
	y.leaveDoubt()
	payload, err := y.agent("claude", "s1").Payload("SessionStart", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	hook.Run(t.Context(), "claude", bytes.NewReader(payload), broken{}, hook.Config{Environ: y.env, Version: "test"})
	if !strings.Contains(y.noted(), io.ErrClosedPipe.Error()) {
		t.Errorf("log: %q", y.noted())
	}
	if types := y.after(0); slices.Contains(types, "operation.judged") {
		t.Errorf("journaled: %q", types)
	}
}

// TestSlowPayload ends the context while the payload does not come. The hook returns, with an answer that is accepted.
func TestSlowPayload(t *testing.T) {
	t.Parallel()
	for _, name := range agentNames {
		ctx, cancel := context.WithCancel(t.Context())
		in, _ := io.Pipe()
		var out bytes.Buffer
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			hook.Run(ctx, name, in, &out, hook.Config{Environ: []string{"PAWL_PROJECT=" + t.TempDir()}})
		}()
		cancel()
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			t.Fatal("the hook waits for its payload")
		}
		in.Close()
		if got, err := agentstest.Read(name, "SessionStart", out.Bytes()); err != nil || got != (agentstest.Answer{}) {
			t.Errorf("%+v %v", got, err)
		}
	}
}

// TestLongLog writes to a log that is too long. It begins a new one and keeps the old one.
func TestLongLog(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	y.env = append(y.env, "PAWL_PROJECT="+y.Root)
	if err := os.WriteFile(y.HookLog(), bytes.Repeat([]byte("x"), 2<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	y.send("claude", "SessionStart", []byte("no JSON"))
	if n := len(y.noted()); n == 0 || n > 1000 {
		t.Errorf("a log of %d bytes", n)
	}
	if info, err := os.Stat(y.HookLog() + ".old"); err != nil || info.Size() != 2<<20 {
		t.Errorf("the old log: %v %v", info, err)
	}
}
