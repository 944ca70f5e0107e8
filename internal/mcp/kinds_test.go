package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pawl"
	"pawl/internal/mcp"
)

// TestListenKinds starts servers with options that are refused. Each returns a usage error and a server that is never there.
func TestListenKinds(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.write("short", "secret\n")
	f.write("words", strings.Repeat("two words ", 4))
	f.write("open", strings.Repeat("t", 64)+"\n")
	if err := os.Chmod(filepath.Join(f.dir, "open"), 0o644); err != nil {
		t.Fatal(err)
	}
	taken := strings.TrimSuffix(strings.TrimPrefix(f.listen(mcp.HTTP{}).url, "http://"), "/mcp")
	for name, h := range map[string]mcp.HTTP{
		"all addresses":   {Address: "0.0.0.0:0"},
		"no host":         {Address: ":0"},
		"no port":         {Address: "127.0.0.1"},
		"a number":        {Address: "7295"},
		"another machine": {Address: "example.org:80"},
		"taken":           {Address: taken},
		"readable token":  {TokenFile: filepath.Join(f.dir, "open")},
		"short token":     {TokenFile: filepath.Join(f.dir, "short")},
		"two words":       {TokenFile: filepath.Join(f.dir, "words")},
		"no token file":   {TokenFile: filepath.Join(f.dir, "nothing")},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		if err := f.server(io.Discard).Listen(ctx, h); pawl.KindOf(err) != pawl.KindUsage {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
	}
	if err := f.server(io.Discard).Listen(t.Context(), mcp.HTTP{TokenFile: f.dir}); err == nil {
		t.Error("a folder is a token file")
	}
}

// codeOf returns the JSON-RPC code of an error, 0 if it has none.
func codeOf(err error) int64 {
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return e.Code
	}
	return 0
}

// TestErrorCodes reads a resource of projects in several states. The code of the error says which kind it is.
func TestErrorCodes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare func(f *folder)
		code    int64
	}{
		"no project": {func(f *folder) { f.remove(".pawl") }, -32007},
		"damaged": {func(f *folder) {
			f.pawl("run", "--", "true")
			f.damage()
		}, -32005},
		"internal": {func(f *folder) {
			f.remove(".pawl/runs")
			f.write(".pawl/runs", "a file")
		}, jsonrpc.CodeInternalError},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFolder(t)
			c.prepare(f)
			agent := f.connect("stdio", "2025-11-25", clientOf("codex", nil))
			_, err := agent.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "pawl://state"})
			if codeOf(err) != c.code {
				t.Errorf("code %d, want %d: %v", codeOf(err), c.code, err)
			}
			got := use(t, agent, "history", nil)
			if !got.wrong {
				t.Errorf("history: %+v", got)
			}
		})
	}
}

// remove removes a file or folder.
func (f *folder) remove(name string) {
	f.Helper()
	if err := os.RemoveAll(filepath.Join(f.dir, name)); err != nil {
		f.Fatal(err)
	}
}

// damage changes a byte in the middle of the only run's journal.
func (f *folder) damage() {
	f.Helper()
	path := filepath.Join(f.runs()[0], "journal.jsonl")
	data, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	data[len(data)/2] ^= 1
	if err := errors.Join(os.WriteFile(path, data, 0o600), os.RemoveAll(filepath.Join(f.runs()[0], "state.json"))); err != nil {
		f.Fatal(err)
	}
}

// stepPlan is a plan whose step writes down its environment and then waits for a file.
const stepPlan = `name: demo
steps:
  - id: work
    run: |
      env > env.part
      mv env.part env.txt
      until test -e over; do sleep 0.02; done
  - {id: after, needs: [work], run: echo after > after.txt}
`

// startStep starts a run of stepPlan and returns the environment of its first step. finish lets the step end and waits for
// the run.
func (f *folder) startStep() (environ []string, finish func()) {
	f.Helper()
	f.write("plan.yaml", stepPlan)
	engine := f.command("run", "plan.yaml")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		engine.Run()
	}()
	finish = func() {
		os.WriteFile(filepath.Join(f.dir, "over"), nil, 0o600)
		<-ended
	}
	f.Cleanup(finish)
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); <-time.After(5 * time.Millisecond) {
		if data, err := os.ReadFile(filepath.Join(f.dir, "env.txt")); err == nil {
			return strings.Split(strings.TrimSpace(string(data)), "\n"), finish
		}
	}
	f.Fatal("the step does not start")
	return nil, finish
}

// TestInsideStep has an agent work inside a step. What it reports belongs to that step and reaches the journal through
// the engine.
func TestInsideStep(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	environ, finish := f.startStep()
	inside := *f
	inside.env = append(environ, "USER=tester")
	agent := inside.connect("stdio", "2025-11-25", clientOf("codex", replying("accept", args{"answer": "approve", "why": "it is"})))
	for _, c := range []struct {
		tool string
		args args
	}{
		{"learn", args{"text": "the disk is slow"}},
		{"decide", args{"choice": "B", "question": "A or B?"}},
		{"progress", args{"done": 1, "total": 2}},
		{"progress", args{"item": "intro", "text": "The beginning", "status": "done"}},
		{"checkpoint", args{"why": "half way"}},
	} {
		if got := use(t, agent, c.tool, c.args); got.wrong || got.data["step"] != "work" {
			t.Errorf("%s: %+v", c.tool, got)
		}
	}
	if got := use(t, agent, "ask", args{"question": "Is it right?", "type": "human_verify"}); got.data["state"] != "open" {

		t.Errorf("ask: %+v", got)
	}
	if got := use(t, agent, "status", nil); got.wrong || got.data["here"] != "work" {
		t.Errorf("status: %+v", got.data)
	}
	if got := use(t, agent, "brief", nil); got.wrong || got.text == "" {
		t.Errorf("brief: %+v", got)
	}
	finish()
	for kind, want := range map[pawl.EventType]int{
		"memory.learned": 1, "decision.made": 1, "item.named": 1, "step.progress": 1, "checkpoint.saved": 1, "gate.opened": 1,
	} {
		if got := f.events(kind); len(got) < want {
			t.Errorf("%d events %s, want %d", len(got), kind, want)
		}
	}
	if got := f.events("gate.answered"); len(got) > 0 {
		t.Errorf("the step has answered itself: %s", got)
	}
}

// TestStepWaits asks inside a step without a person to ask. The step is not done before the answer.
func TestStepWaits(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	environ, finish := f.startStep()
	inside := *f
	inside.env = environ
	agent := inside.connect("stdio", "2025-11-25", clientOf("codex", nil))
	got := use(t, agent, "ask", colours)
	if got.data["state"] != "open" {
		t.Fatalf("%+v", got)
	}
	finish()
	var opened struct {
		Data pawl.GateOpened `json:"data"`
	}
	lines := f.events("gate.opened")
	if len(lines) != 1 {
		t.Fatalf("gates: %s", lines)
	}
	if err := json.Unmarshal([]byte(lines[0]), &opened); err != nil {
		t.Fatal(err)
	}
	if string(opened.Data.ID) != got.data["gate"] || opened.Data.Step != "work" || len(opened.Data.Options) != 2 {
		t.Errorf("%s, asked: %+v", lines[0], got)
	}
	if done := f.events("step.done"); len(done) != 0 {
		t.Errorf("the step is done before the answer: %s", done)
	}
}

// TestServerEndsWithContext ends the context of a server. It returns without an error and frees its port.
func TestServerEndsWithContext(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	place := func() string {
		var h served
		ok := t.Run("once", func(t *testing.T) {
			inner := *f
			inner.T = t
			h = inner.listen(mcp.HTTP{NoToken: true})
			if got, said := post(t, h, "/mcp", shakeHands); got != 200 {
				t.Errorf("%d %s", got, said)
			}
		})
		if !ok {
			t.FailNow()
		}
		return strings.TrimSuffix(strings.TrimPrefix(h.url, "http://"), "/mcp")
	}()
	if got, said := post(t, f.listen(mcp.HTTP{Address: place, NoToken: true}), "/mcp", shakeHands); got != 200 {
		t.Errorf("%d %s", got, said)
	}
}
