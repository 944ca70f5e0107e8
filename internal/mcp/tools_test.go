package mcp_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pawl"
	"pawl/test/stories/storytest"
)

// args are a tool's arguments.
type args map[string]any

// TestAgentWorks has an agent that is attached to nothing work for a while, and looks at what is left of that.
func TestAgentWorks(t *testing.T) {
	everyWay(t, func(t *testing.T, way, version string) {
		f := newFolder(t)
		agent := f.connect(way, version, clientOf("claude-code", nil))
		says(t, use(t, agent, "status", nil).text, "no runs in this project yet")
		says(t, use(t, agent, "brief", nil).text, "no runs in this project yet")
		says(t, use(t, agent, "learn", args{"text": "the disk is slow", "kind": "gotcha"}).text, "^note recorded in run session-")
		says(t, use(t, agent, "learn", args{"text": "the disk is slow", "kind": "gotcha"}).text, "already known")
		use(t, agent, "decide", args{"choice": "B", "question": "A or B?", "options": []string{"A", "B"}, "why": "the password is " + secret})
		use(t, agent, "progress", args{"text": "chapters", "done": 2, "total": 7})
		use(t, agent, "progress", args{"item": "intro", "text": "The beginning", "status": "done"})
		if got := use(t, agent, "block", args{"text": "no ink", "needs": "ink"}); got.data["blocker"] != 1.0 {
			t.Errorf("blocker: %v", got)
		}
		saved := use(t, agent, "checkpoint", args{"why": "before the rewrite"})
		says(t, saved.text, "^saved checkpoint [0-9a-f]{8} of run session-.*: 1 file, 6 bytes")
		f.pawl("show", saved.data["checkpoint"].(string))
		now := use(t, agent, "status", nil)
		says(t, now.text, "session-.*: waiting", "blocker 1: no ink; needs: ink", "last checkpoint: "+saved.data["checkpoint"].(string))
		says(t, use(t, agent, "brief", nil).text, "no ink", "the disk is slow", "end of brief")
		for kind, want := range map[pawl.EventType]string{
			"memory.learned": `"by":{"kind":"agent","name":"claude-code","session":"mcp-`, "decision.made": `"by":"claude-code"`,
			"item.named": `"step":"tasks","item":"claude-code","title":"chapters \(2 of 7\)","status":"running"`, "blocker.opened": `"needs":"ink"`,
			"checkpoint.saved": `"why":"before the rewrite"`,
		} {
			says(t, strings.Join(f.events(kind), ""), want)
		}
		if got := len(f.events("memory.learned")); got != 1 {
			t.Errorf("learned %d times", got)
		}
		f.noSecret()
	})
}

// TestResourcesAndPrompt reads what clients can get without a tool.
func TestResourcesAndPrompt(t *testing.T) {
	everyWay(t, func(t *testing.T, way, version string) {
		f := newFolder(t)
		agent := f.connect(way, version, clientOf("gemini-cli-mcp-client", nil))
		use(t, agent, "learn", args{"text": "deploy with DEPLOY_TOKEN=" + secret})
		for uri, want := range map[string]string{"pawl://brief": `deploy with DEPLOY_TOKEN=`, "pawl://state": `"status": "active"`} {
			res, err := agent.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
			if err != nil {
				t.Fatal(err)
			}
			says(t, res.Contents[0].Text, want)
			if strings.Contains(res.Contents[0].Text, secret) {
				t.Errorf("%s tells the secret", uri)
			}
		}
		if _, err := agent.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "pawl://nothing"}); err == nil {
			t.Error("pawl://nothing can be read")
		}
		if err := os.Mkdir(filepath.Join(f.dir, ".grid"), 0o700); err != nil {
			t.Fatal(err)
		}
		f.write(".grid/STATE.md", "status: active\nnote: call me\n")
		for _, name := range []string{"pawl_resume", "resume"} { // the second one is not listed
			res, err := agent.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: name})
			if err != nil {
				t.Fatal(err)
			}
			says(t, res.Messages[0].Content.(*sdk.TextContent).Text, "^Resume the work", "unfinished work of grid in .grid", "`pawl import grid`", "Brief of run", "deploy with")
		}
	})
}

// TestDataIsWhole calls every tool. Some clients give their model only the data, others only the text: each command, and what to do
// next, is in both.
func TestDataIsWhole(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	agent := f.connect("stdio", "2025-06-18", clientOf("codex", nil))
	for _, c := range []struct {
		tool  string
		args  args
		wants []string
	}{
		{"status", nil, []string{"nothing to resume"}},
		{"brief", nil, []string{"pawl --help"}},
		{"learn", args{"text": "the disk is slow"}, []string{"undo: delete the line from .pawl/MEMORY.md"}},
		{"learn", args{"text": "the disk is slow"}, []string{"known"}},
		{"decide", args{"choice": "B"}, []string{"next: keep to it"}},
		{"progress", args{"item": "intro", "status": "done"}, []string{"undo: report the same item"}},
		{"block", args{"text": "no ink"}, []string{"next: do work that is not blocked", "pawl unblock 1 -m HOW"}},
		{"checkpoint", args{"why": "before"}, []string{"next: continue", "pawl restore "}},
		{"ask", args{"question": "A or B?", "options": []string{"A", "B"}}, []string{"pawl answer ", "continue with work that does not depend on the answer"}},
		{"status", nil, []string{"next: tell the user", "no ink", "A or B\\?"}},
		{"brief", nil, []string{"no ink", "the disk is slow", "pawl log"}},
		{"history", nil, []string{"blocker.opened"}},
	} {
		got := use(t, agent, c.tool, c.args)
		data, err := json.Marshal(got.data)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range c.wants {
			says(t, got.text, want)
			says(t, strings.NewReplacer(`"next":"`, "next: ", `"undo":"`, "undo: ").Replace(string(data)), want)
		}
		if next, _ := got.data["next"].(string); c.tool == "brief" && !strings.Contains(next, "resume") && !strings.Contains(next, "do not redo finished work") {
			t.Errorf("brief: next %q", next)
		}
	}
}

// TestCallToActionFirst: some clients pass on only the first sentence of the instructions, and models read descriptions from the front.
func TestCallToActionFirst(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	agent := f.connect("stdio", "2025-06-18", clientOf("codex", nil))
	first, _, _ := strings.Cut(agent.InitializeResult().Instructions, ". ")
	says(t, first, "^Call `brief`", "in your context already", "what to do next")
	tools, err := agent.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools.Tools {
		says(t, tool.Description, "^(Call this|Ask|Record|Add|Save|Report) ")
		if tool.Name == "status" || tool.Name == "history" {
			first, _, _ := strings.Cut(tool.Description, ". ")
			says(t, first, "only", "`brief`")
		}
	}
}

// TestOffer keeps what models are offered in a file, to see when it changes.
func TestOffer(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	agent := f.connect("stdio", "2025-11-25", clientOf("codex", nil))
	tools, err := agent.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	resources, err := agent.ListResources(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	prompts, err := agent.ListPrompts(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	enc := json.NewEncoder(&got)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode([]any{agent.InitializeResult().Instructions, tools.Tools, resources.Resources, prompts.Prompts}); err != nil {
		t.Fatal(err)
	}
	const path = "testdata/offer.golden"
	if storytest.Update() {
		if err := os.WriteFile(path, got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("%s: -want +got\n%s", path, diff)
	}
}

// TestWrongCalls makes calls that make no sense. What is wrong is told to the model, which may do better, and nothing
// happens.
func TestWrongCalls(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	agent := f.connect("stdio", "2025-11-25", clientOf("codex", nil))
	for _, c := range []struct {
		tool string
		args args
		want string
	}{
		{"learn", args{}, `missing properties: \["text"\]`},
		{"learn", args{"text": " "}, "nothing to learn"},
		{"learn", args{"text": "x", "kind": "hunch"}, "enum: hunch does not equal any of"},
		{"learn", args{"text": "x", "sort": "y"}, `unexpected additional properties \["sort"\]`},
		{"learn", args{"text": strings.Repeat("long ", 3000)}, "the arguments have 15011 bytes; the maximum is 12288"},
		{"learn", args{"text": strings.Repeat("x", 10<<20)}, "the arguments have 10485771 bytes"},
		{"decide", args{"choice": ""}, "choice is empty"},
		{"progress", args{}, "pass at least one of"},
		{"block", args{"text": ""}, "text is empty"},
		{"block", args{"text": "x", "step": "nothing"}, "unknown step \"nothing\"; hint: `pawl status`"},
		{"ask", args{"question": ""}, "question is empty"},
		{"ask", args{"question": "which?", "type": "decision"}, "type decision needs options"},
		{"ask", args{"question": "look?", "type": "human_verify", "options": []string{"a"}}, "type decision needs options"},
		{"status", args{"run": "nothing"}, "no run \"nothing\"; hint: `pawl runs`"},
		{"brief", args{"since": "nothing"}, ""},
		{"history", args{}, ""},
	} {
		if c.tool == "block" && c.args["step"] != nil {
			use(t, agent, "learn", args{"text": "there is a run now"})
		}
		got := use(t, agent, c.tool, c.args)
		if c.want == "" {
			continue
		}
		if !got.wrong {
			t.Errorf("%s %.80v: %s", c.tool, c.args, got.text)
		}
		says(t, got.text, c.want)
	}
	if _, err := agent.CallTool(t.Context(), &sdk.CallToolParams{Name: "nothing"}); err == nil {
		t.Error("there is a tool called nothing")
	}
	if got := f.events("memory.learned"); len(got) != 1 {
		t.Errorf("something happened: %s", got)
	}
}

// TestNoProject serves a folder that is in no project: only a checkpoint makes it one.
func TestNoProject(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	if err := os.RemoveAll(f.dir + "/.pawl"); err != nil {
		t.Fatal(err)
	}
	agent := f.connect("stdio", "2026-07-28", clientOf("codex", nil))
	got := use(t, agent, "status", nil)
	says(t, got.text, "not a pawl project", "hint: `pawl init`")
	if _, err := agent.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "pawl://state"}); err == nil {
		t.Error("there is a state without a project")
	} else {
		says(t, err.Error(), "not a pawl project")
	}
	says(t, use(t, agent, "checkpoint", nil).text, "1 file")
	says(t, use(t, agent, "status", nil).text, "session-.*: active")
}

// TestHistoryInPages reads a journal of many events page by page, and finds each of them once.
func TestHistoryInPages(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	agent := f.connect("stdio", "2025-11-25", clientOf("codex", nil))
	const many = 60
	for i := range many {
		use(t, agent, "learn", args{"text": fmt.Sprintf("thing %d: %s", i, strings.Repeat("wörter ", 400))})
	}
	seen, before, pages := map[float64]bool{}, 0.0, 0
	for {
		got := use(t, agent, "history", args{"before": before, "limit": 1000})
		if size := len(got.text); size > 40<<10 {
			t.Errorf("a page of %d bytes", size)
		}
		for _, e := range got.data["events"].([]any) {
			seq := e.(map[string]any)["seq"].(float64)
			if seen[seq] {
				t.Errorf("event %v twice", seq)
			}
			seen[seq] = true
		}
		pages++
		next, more := got.data["next"].(float64)
		if !more {
			break
		}
		before = next
	}
	if len(seen) != many+1 || pages < 3 {
		t.Errorf("%d events in %d pages", len(seen), pages)
	}
	got := use(t, agent, "history", args{"types": []string{"run.created"}})
	if n := len(got.data["events"].([]any)); n != 1 {
		t.Errorf("%d runs were created: %s", n, got.text)
	}
}

// TestManyAtOnce has two agents say many things at the same time, in a project without a run.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	agents := []*sdk.ClientSession{
		f.connect("stdio", "2025-11-25", clientOf("codex", nil)), f.connect("stdio", "2026-07-28", clientOf("claude-code", nil)),
	}
	const many = 24
	var all sync.WaitGroup
	for i := range many {
		agent := agents[i%2]
		all.Go(func() {
			switch i % 3 {
			case 0:
				use(t, agent, "learn", args{"text": fmt.Sprint("thing ", i)})
			case 1:
				use(t, agent, "ask", args{"question": "the same?"})
			default:
				use(t, agent, "checkpoint", args{"why": fmt.Sprint(i)})
			}
		})
	}
	all.Wait()
	if runs := f.runs(); len(runs) != 1 {
		t.Errorf("%d runs: %s", len(runs), runs)
	}
	for kind, want := range map[pawl.EventType]int{"memory.learned": many / 3, "checkpoint.saved": many / 3} {
		if got := len(f.events(kind)); got != want {
			t.Errorf("%d events %s, not %d", got, kind, want)
		}
	}
	says(t, f.pawl("gates"), "the same")
	f.pawl("verify")
}

// TestAttachedAgent has hooks tell of the agent that starts the server. What it says belongs to its session and to the run
// that this is in, also when another run is the current one. The agent is this process, so no other test may act as a person meanwhile.
func TestAttachedAgent(t *testing.T) {
	f := newFolder(t)
	t.Cleanup(func() {
		if err := os.RemoveAll(filepath.Join(os.Getenv("HOME"), ".local/state/pawl/sessions")); err != nil {
			t.Error(err)
		}
	})
	hook := f.command("hook", "claude")
	hook.Stdin = strings.NewReader(fmt.Sprintf(`{"hook_event_name":"SessionStart","session_id":"0f1e","source":"startup","cwd":%q}`, f.dir))
	if out, err := hook.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	hook = f.command("hook", "claude")
	hook.Stdin = strings.NewReader(fmt.Sprintf(`{"hook_event_name":"UserPromptSubmit","session_id":"0f1e","cwd":%q,"prompt":"Do it"}`, f.dir))
	if out, err := hook.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	agent := f.program("2025-11-25", clientOf("claude-code", nil))
	other := f.connect("http", "2025-11-25", clientOf("codex", nil))
	use(t, agent, "learn", args{"text": "one"})
	says(t, strings.Join(f.events("memory.learned"), ""), `"by":{"kind":"agent","name":"claude-code","session":"0f1e"}`)
	if own := use(t, agent, "brief", nil).text; strings.Contains(own, "claude:0f1e") {
		t.Errorf("its own session stands in its brief: %s", own)
	}
	says(t, use(t, other, "brief", nil).text, "session: `claude:0f1e` is alive")

	f.write("plan.yaml", "name: demo\nsteps:\n  - {id: look, gate: {type: human_verify, ask: Good?}}\n")
	f.command("run", "plan.yaml").Run() // it stops at the gate
	says(t, use(t, agent, "checkpoint", nil).text, "of run session-")
	says(t, use(t, agent, "decide", args{"choice": "B"}).text, "recorded in run session-")
	says(t, use(t, agent, "status", nil).text, "^run session-")
	says(t, use(t, other, "status", nil).text, "^run demo-")
	says(t, use(t, other, "checkpoint", nil).text, "of run demo-")
}
