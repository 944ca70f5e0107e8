package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/agents/agentstest"
	"pawl/internal/cli"
	"pawl/internal/hook"
)

// attached is what `pawl attach --json` and `pawl detach --json` print.
type attached struct {
	Agent  string `json:"agent"`
	Scope  string `json:"scope"`
	DryRun bool   `json:"dry_run"`
	Files  []struct {
		Path   string `json:"path"`
		Change string `json:"change"`
		Diff   string `json:"diff"`
	} `json:"files"`
}

// tree returns the contents of all files below a folder, without pawl's own.
func tree(t *testing.T, root string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.Name() == ".pawl":
			return filepath.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		data, err := os.ReadFile(path)
		found[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestAttach connects each agent and disconnects it. The files are as they were before.
func TestAttach(t *testing.T) {
	t.Parallel()
	for _, agent := range []string{"claude", "codex", "gemini", "opencode", "copilot"} {
		t.Run(agent, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.write(".claude/settings.json", "{\n  \"model\": \"opus\"\n}\n")
			before := tree(t, p.dir)
			dry := decode[attached](p, "attach", agent, "--dry-run")
			p.ok("attach", agent, "--dry-run")
			if !dry.DryRun || len(dry.Files) == 0 || dry.Agent != agent || p.exists(".pawl") {
				t.Errorf("%+v", dry)
			}
			if diff := cmp.Diff(before, tree(t, p.dir)); diff != "" {
				t.Errorf("a dry run changes files: %s", diff)
			}
			done := decode[attached](p, "attach", agent)
			if len(done.Files) != len(dry.Files) || !p.exists(".pawl") {
				t.Errorf("%+v", done)
			}
			for _, f := range done.Files {
				if !p.exists(f.Path) || f.Diff == "" || f.Change == "" {
					t.Errorf("%+v", f)
				}
			}
			if again := decode[attached](p, "attach", agent); len(again.Files) != 0 {
				t.Errorf("attached again: %+v", again)
			}
			p.ok("attach", agent)
			if findings := decoded[[]pawl.Finding](p, p.pawl("doctor", "--json").out); len(findings) == 0 {
				t.Error("doctor finds nothing")
			}
			if gone := decode[attached](p, "detach", agent); len(gone.Files) == 0 {
				t.Errorf("%+v", gone)
			}
			if diff := cmp.Diff(before, tree(t, p.dir)); diff != "" {
				t.Errorf("after detaching: %s", diff)
			}
			p.ok("detach", agent)
		})
	}
}

// TestAttachUser connects an agent for all projects of the user. It has a home of its own, because doctor of the other tests reads
// the files that it writes.
func TestAttachUser(t *testing.T) {
	home := t.TempDir()
	for _, name := range []string{"HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"} {
		t.Setenv(name, home)
	}
	p := newPlace(t)
	done := decode[attached](p, "attach", "claude", "--scope", "user", "--yes")
	if done.Scope != "user" || len(done.Files) == 0 || p.exists(".pawl") {
		t.Errorf("%+v", done)
	}
	if len(tree(t, p.dir)) > 0 {
		t.Error("the folder is changed")
	}
	p.wants(p.ok("detach", "claude", "--scope", "user"), "claude")
}

// TestHookCommand calls the command by hand that agents call.
func TestHookCommand(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.pawl("hook", "claude") // the main function answers agents before the command line is read
	p.fails(pawl.KindUsage, "hook")
}

// interruptedCall has a session of an agent begin a tool call and end.
func (p *place) interruptedCall() {
	p.Helper()
	a, err := agentstest.New("claude", "s1", p.dir, io.Discard)
	if err != nil {
		p.Fatal(err)
	}
	for _, example := range []string{"SessionStart", "UserPromptSubmit", "PreToolUse", "SessionEnd"} {
		payload, err := a.Payload(example, "", map[string]any{"prompt": "plant the beds"})
		if err != nil {
			p.Fatal(err)
		}
		call := exec.CommandContext(p.Context(), os.Args[0], hook.Verb, "claude") // a child, so that the agent is not above this test
		call.Stdin = bytes.NewReader(payload)
		if out, err := call.CombinedOutput(); err != nil {
			p.Fatalf("%v: %s", err, out)
		}
	}
}

// TestSessionOfAgent has a session of an agent begin a tool call and end. Commands show both.
func TestSessionOfAgent(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.write(".pawl/config.yaml", "snapshots: {off: true}\n")
	p.interruptedCall()
	got := decode[struct {
		Sessions []struct {
			Session pawl.SessionID
			Asked   string
		}
		Doubts []struct {
			Tool string
			Seq  int
		} `json:"in_doubt"`
	}](p, "status")
	if len(got.Sessions) != 1 || got.Sessions[0].Session != "claude:s1" || got.Sessions[0].Asked != "plant the beds" || len(got.Doubts) != 1 {
		t.Errorf("%+v", got)
	}
	p.wants(p.ok("status"), "claude:s1", "plant the beds", got.Doubts[0].Tool)
	p.wants(p.ok("brief"), "claude:s1")
	call := strconv.Itoa(got.Doubts[0].Seq)
	if words := completed(p, "settle", ""); !slices.Equal(words, []string{call}) {
		t.Errorf("settle is completed with %q", words)
	}
	p.fails(pawl.KindUsage, "settle", "nothing")
	p.wants(p.ok("settle", call, "-m", "it is there"), "settled")
	p.fails(pawl.KindUsage, "settle", call)
	p.ok("stats", "--all")
	p.ok("log")
	p.ok("runs")
}

// TestMCP serves a client on standard input and output.
func TestMCP(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	in := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"learn","arguments":{"text":"it works"}}}
`
	got := p.within(t.Context(), in, "mcp")
	if got.err != nil {
		t.Fatal(got.err)
	}
	answers := 0
	for line := range strings.Lines(got.out) {
		if !json.Valid([]byte(line)) {
			t.Errorf("no JSON: %q", line)
		}
		answers++
	}
	if answers != 2 || last[pawl.MemoryLearned](p).Text != "it works" {
		t.Errorf("%d answers: %s", answers, got.out)
	}
}

// TestMCPOverHTTP serves clients by HTTP until the context ends.
func TestMCPOverHTTP(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var msg safeBuffer
	ended := make(chan error, 1)
	go func() {
		ended <- cli.Run(ctx, []string{"-C", p.dir, "mcp", "--http"}, cli.IO{In: strings.NewReader(""), Out: io.Discard, Err: &msg}, "test", parts())
	}()
	p.until("the address is printed", func() bool { return regexp.MustCompile(`http://127\.0\.0\.1:\d+/mcp`).MatchString(msg.String()) })
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
