package hook_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/agents"
	"pawl/internal/agents/agentstest"
	"pawl/internal/planfile"
	"pawl/internal/runs"
)

// journaled maps what an agent calls an event to the type of event that a hook journals for it. A hook journals nothing for
// other events.
var journaled = map[string]pawl.EventType{
	"SessionStart": "session.began", "SessionEnd": "session.ended", "UserPromptSubmit": "session.prompted", "BeforeAgent": "session.prompted",
	"PreToolUse": "operation.begun", "BeforeTool": "operation.begun", "PostToolUse": "operation.ended", "AfterTool": "operation.ended",
	"PostToolUseFailure": "operation.ended", "PermissionDenied": "operation.ended", "PreCompact": "session.compacted",
	"Stop": "session.turned", "AfterAgent": "session.turned", "StopFailure": "session.turned", "ErrorOccurred": "session.turned",
	"Interrupt": "session.turned", "PermissionRequest": "session.turned", "SubagentStart": "session.began", "SubagentStop": "session.ended",
	"TaskCreated": "item.named", "TaskCompleted": "item.named", "TodoUpdated": "item.named",
	"gemini Notification": "session.turned",
}

// TestEachEvent sends every example of every agent. Each is journaled as its type, and the agent accepts each answer.
func TestEachEvent(t *testing.T) {
	t.Parallel()
	for _, name := range agentNames {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			y := newYard(t)
			a := y.agent(name, "s1")
			shapes, err := agentstest.Shapes(name)
			if err != nil || len(shapes) < 10 {
				t.Fatalf("%d examples: %v", len(shapes), err)
			}
			for _, shape := range shapes {
				before := len(y.events())
				y.call(a, shape.Name, "", map[string]any{"task_subject": "do " + shape.Name})
				event, _, _ := strings.Cut(shape.Name, " ")
				want := journaled[event]
				if event == "Notification" {
					want = journaled[name+" "+shape.Name]
				}
				if name == "copilot" && event == "PermissionRequest" { // it asks hooks also where no person is asked
					want = ""
				}
				got := y.after(before)
				if want == "" && len(got) > 0 || want != "" && !slices.Contains(got, want) {
					t.Errorf("%s: journaled %q, want %q", shape.Name, got, want)
				}
			}
			if log := y.noted(); log != "" {
				t.Errorf("log: %s", log)
			}
			if n := len(y.runs()); n != 1 {
				t.Errorf("%d runs", n)
			}
		})
	}
}

// TestWhatIsJournaled looks at the payloads of a short session.
func TestWhatIsJournaled(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	y.write("old.txt", "one\n")
	a := y.agent("claude", "s1")
	y.call(a, "SessionStart", "", nil)
	began := last[pawl.SessionBegan](y)
	if began.Session != "claude:s1" || began.Source != "startup" || began.Dir != y.Root || began.Model == "" || began.Process == nil {
		t.Errorf("began: %+v", began)
	}
	y.call(a, "UserPromptSubmit", "", map[string]any{"prompt": "use " + secret})
	if p := last[pawl.SessionPrompted](y); !strings.HasPrefix(p.Text, "use ") || strings.Contains(p.Text, secret) || len(p.Digest) != 64 {
		t.Errorf("prompted: %+v", p)
	}
	set := map[string]any{
		"tool_name": "Write", "tool_use_id": "call-1", "duration_ms": 1500,
		"tool_input": map[string]any{"file_path": y.Root + "/old.txt", "content": "two\n"},
	}
	y.call(a, "PreToolUse", "", set)
	o := last[pawl.OperationBegun](y)
	if o.ID != "claude:s1#call-1" || o.Kind != pawl.OperationFiles || !slices.Equal(o.Paths, []string{"old.txt"}) || o.Clock.IsZero() {
		t.Errorf("begun: %+v", o)
	}
	if len(o.Expect) != 1 || o.Expect[0].Was == "" || o.Expect[0].Will == "" || o.Expect[0].Was == o.Expect[0].Will {
		t.Errorf("expected: %+v", o.Expect)
	}
	y.call(a, "PostToolUse", "", set)
	if e := last[pawl.OperationEnded](y); e.Operation != o.ID || e.Digest != o.Digest || e.Failed || e.Bytes == 0 {
		t.Errorf("ended: %+v", e)
	}
	y.call(a, "PostToolUseFailure", "", map[string]any{"tool_use_id": "call-2", "error": "no ink " + secret})
	if e := last[pawl.OperationEnded](y); !e.Failed || !strings.HasPrefix(e.Error, "no ink") || strings.Contains(e.Error, secret) {
		t.Errorf("failed: %+v", e)
	}
	y.call(a, "PermissionDenied", "", map[string]any{"tool_use_id": "call-3"})
	if e := last[pawl.OperationEnded](y); !e.Failed || e.Operation != "claude:s1#call-3" {
		t.Errorf("denied: %+v", e)
	}
	y.call(a, "Stop", "", map[string]any{"last_assistant_message": strings.Repeat("long ", 5000)})
	if turned := last[pawl.SessionTurned](y); turned.Doing != pawl.SessionIdle || len(turned.Said) < 1000 || len(turned.Said) > 2100 {
		t.Errorf("turned: %s, %d bytes", turned.Doing, len(turned.Said))
	}
	y.call(a, "SessionEnd", "", map[string]any{"reason": "logout"})
	if ended := last[pawl.SessionEnded](y); ended.Why != "logout" || ended.Session != "claude:s1" {
		t.Errorf("ended: %+v", ended)
	}
	for _, e := range y.events()[2:] {
		if e.By != (pawl.Author{Kind: pawl.ByHook, Name: "claude", Session: "s1"}) {
			t.Errorf("%s by %+v", e.Type, e.By)
		}
	}
	for path, content := range files(t, y.Home()) {
		if strings.Contains(content, secret) {
			t.Errorf("%s holds the secret", path)
		}
	}
}

// TestDoing maps what happens in a session to what its state says that it does.
func TestDoing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		agent, example string
		want           pawl.SessionDoing
	}{
		{"claude", "PreToolUse", pawl.SessionWorks}, {"claude", "Stop", pawl.SessionIdle}, {"claude", "StopFailure", pawl.SessionFailed},
		{"claude", "PermissionRequest", pawl.SessionAsks}, {"claude", "SessionEnd", pawl.SessionIsEnded}, {"codex", "Interrupt", pawl.SessionIdle},
		{"gemini", "Notification", pawl.SessionAsks}, {"copilot", "ErrorOccurred", pawl.SessionFailed},
	} {
		y := newYard(t)
		a := y.agent(c.agent, "s1")
		y.call(a, "SessionStart", "", nil)
		y.call(a, c.example, "", nil)
		s, err := runs.LoadState(t.Context(), y.Project, y.runs()[0])
		if err != nil {
			t.Fatal(err)
		}
		if x := s.Sessions[pawl.SessionIDOf(c.agent, "s1", "")]; x == nil || x.Doing != c.want {
			t.Errorf("%s %s: %+v, want %s", c.agent, c.example, x, c.want)
		}
	}
}

// TestSubagent starts and ends a subagent. It is a separate session and gets no brief.
func TestSubagent(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	a := y.agent("claude", "s1")
	y.call(a, "SessionStart", "", nil)
	if got := y.call(a, "SubagentStart", "sub", nil); got.Context != "" {
		t.Errorf("the subagent is told %q", got.Context)
	}
	if began := last[pawl.SessionBegan](y); began.Session.Parent() != "claude:s1" {
		t.Errorf("began: %+v", began)
	}
	y.call(a, "SubagentStop", "sub", nil)
	if ended := last[pawl.SessionEnded](y); ended.Session.Parent() != "claude:s1" {
		t.Errorf("ended: %+v", ended)
	}
}

// TestMixedSubagents: Copilot CLI reports the tool calls of a subagent as those of another session. While one works, another session of the
// process is the subagent; afterwards it is a session of its own.
func TestMixedSubagents(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	parent, other := y.agent("copilot", "s1"), y.agent("copilot", "s2")
	begun := func() pawl.SessionID {
		t.Helper()
		y.call(other, "PreToolUse", "", nil)
		return last[pawl.OperationBegun](y).Session
	}
	y.call(parent, "SessionStart", "", nil)
	y.call(parent, "SubagentStart", "", nil)
	if got := begun(); got != "copilot:s1/s2" {
		t.Errorf("while the subagent works: %s", got)
	}
	y.call(parent, "SubagentStop", "", nil)
	if got := begun(); got != "copilot:s2" {
		t.Errorf("after it has ended: %s", got)
	}
	y.call(parent, "SubagentStart", "", nil)
	y.call(parent, "Stop", "", nil)
	if got := begun(); got != "copilot:s2" {
		t.Errorf("after the turn has ended: %s", got)
	}
	if log := y.noted(); log != "" {
		t.Errorf("log: %s", log)
	}
}

// TestOrphanHooks: a hook of a subagent may run when its agent has died. Its call belongs to the parent's session.
func TestOrphanHooks(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	owner := exec.Command("sleep", "60")
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	y.parent = owner.Process.Pid
	y.call(y.agent("copilot", "s1"), "SessionStart", "", nil)
	y.call(y.agent("copilot", "s1"), "SubagentStart", "", nil)
	y.call(y.agent("copilot", "s2"), "PreToolUse", "", nil)
	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = owner.Wait()
	y.parent = 1 // init has adopted the hooks
	for _, c := range []struct {
		session, example string
		want             pawl.SessionID
	}{
		{"s2", "PostToolUse", "copilot:s1/s2"}, // one that had a hook before
		{"s3", "PostToolUse", "copilot:s1/s3"}, // one whose first hook came late
		{"s1", "PostToolUse", "copilot:s1"},
	} {
		y.call(y.agent("copilot", c.session), c.example, "", nil)
		if got := last[pawl.OperationEnded](y).Session; got != c.want {
			t.Errorf("%s of %s: %s", c.example, c.session, got)
		}
	}
	y.parent = 0 // another agent runs a subagent
	y.call(y.agent("copilot", "s4"), "SessionStart", "", nil)
	y.call(y.agent("copilot", "s4"), "SubagentStart", "", nil)
	y.parent = 1
	y.call(y.agent("copilot", "s5"), "PostToolUse", "", nil)
	if got := last[pawl.OperationEnded](y).Session; got != "copilot:s5" {
		t.Errorf("of no dead agent: %s", got)
	}
}

// TestAskedAndLate: a request for permission names its call; a brief that an agent drops comes once more, with the next prompt.
func TestAskedAndLate(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	a := y.agent("claude", "s1")
	set := map[string]any{"tool_name": "Bash", "tool_input": map[string]any{"command": "make beds"}}
	y.call(a, "PreToolUse", "", set)
	y.call(a, "PermissionRequest", "", set)
	if asked, o := last[pawl.SessionTurned](y), last[pawl.OperationBegun](y); asked.Digest == "" || asked.Digest != o.Digest {
		t.Errorf("asked for %q, announced %q", asked.Digest, o.Digest)
	}
	g := y.agent("gemini", "s2")
	if told := y.call(g, "SessionStart", "", map[string]any{"source": "clear"}); told.Context != "" {
		t.Errorf("told at the start: %s", told.Context)
	}
	for i, want := range []bool{true, false} {
		if told := y.call(g, "BeforeAgent", "", nil); strings.Contains(told.Context, "# Brief of run") != want {
			t.Errorf("prompt %d: told %q", i+1, told.Context)
		}
	}
}

// TestUnheardStart sends a tool call of a session whose start no hook has heard. The session is journaled before it.
func TestUnheardStart(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	y.call(y.agent("codex", "s1"), "PreToolUse", "", nil)
	types := y.after(0)
	began, begun := slices.Index(types, "session.began"), slices.Index(types, "operation.begun")
	if began < 0 || begun < began {
		t.Errorf("journaled: %q", types)
	}
	before := len(types)
	y.call(y.agent("codex", "s1"), "PreToolUse", "", map[string]any{"tool_use_id": "other"})
	if got := y.after(before); !slices.Equal(got, []pawl.EventType{"operation.begun"}) {
		t.Errorf("the second call journals %q", got)
	}
}

// TestTwoSessions starts a second session while a first one is active. Each gets one notice of the other.
func TestTwoSessions(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	first, second := y.agent("claude", "first"), y.agent("gemini", "second")
	y.call(first, "SessionStart", "", nil)
	if got := y.call(second, "SessionStart", "", nil); !strings.Contains(got.Context, "claude:first") {
		t.Errorf("the second is told %q", got.Context)
	}
	if got := y.call(first, "UserPromptSubmit", "", nil); !strings.Contains(got.Context, "gemini:second") {
		t.Errorf("the first is told %q", got.Context)
	}
	if got := y.call(first, "UserPromptSubmit", "", nil); got.Context != "" {
		t.Errorf("the first is told again: %q", got.Context)
	}
}

// TestToldOfDoubt starts a session after another one has ended in the middle of a tool call. It is told of that call, and
// what became of it is journaled.
func TestToldOfDoubt(t *testing.T) {
	t.Parallel()
	for _, name := range agentNames {
		y := newYard(t)
		y.leaveDoubt()
		if got := y.call(y.agent(name, "next"), "SessionStart", "", nil); !strings.Contains(got.Context, "draft.txt") {
			t.Errorf("%s is told %q", name, got.Context)
		}
		if judged := last[pawl.OperationJudged](y); judged.Verdict != pawl.OperationNotDone {
			t.Errorf("%s: %+v", name, judged)
		}
	}
}

// leaveDoubt has a session begin to write a file and end.
func (y *yard) leaveDoubt() {
	y.Helper()
	a := y.agent("claude", "before")
	y.call(a, "SessionStart", "", nil)
	y.call(a, "PreToolUse", "", map[string]any{
		"tool_name": "Write", "tool_use_id": "c1", "tool_input": map[string]any{"file_path": y.Root + "/draft.txt", "content": "one\n"},
	})
	y.call(a, "SessionEnd", "", nil)
}

// TestLostRun removes the run of a session between two calls. The next call finds or makes another run.
func TestLostRun(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	a := y.agent("claude", "s1")
	y.call(a, "SessionStart", "", nil)
	gone := y.runs()[0]
	if err := os.RemoveAll(y.RunDir(gone)); err != nil {
		t.Fatal(err)
	}
	y.call(a, "PreToolUse", "", nil)
	types := y.after(0)
	if !slices.Contains(types, "session.began") || !slices.Contains(types, "operation.begun") || y.runs()[0] == gone {
		t.Errorf("run %s: %q", y.runs(), types)
	}
}

// TestTasks changes a task list. Only what changed is journaled, and a task that is left out is dropped.
func TestTasks(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	a := y.agent("opencode", "s1")
	y.call(a, "SessionStart", "", nil)
	todo := func(title, status string) any { return map[string]any{"content": title, "status": status} }
	for _, list := range [][]any{
		{todo("dig", "in_progress"), todo("plant", "pending"), todo("water", "pending")},
		{todo("dig", "completed"), todo("plant", "pending"), todo("water", "pending")},
		{todo("dig", "completed"), todo("plant", "in_progress")},
	} {
		y.call(a, "TodoUpdated", "", map[string]any{"todos": list})
	}
	var got []string
	for _, e := range y.events() {
		if e.Type != "item.named" {
			continue
		}
		payload, err := e.Payload()
		if err != nil {
			t.Fatal(err)
		}
		item := payload.(pawl.ItemNamed)
		got = append(got, item.Title+" "+string(item.Status))
	}
	want := []string{"dig running", "plant pending", "water pending", "dig done", "plant running", "water dropped"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// inStep makes a run of one step with an acceptance check and returns the environment of an attempt at it.
func (y *yard) inStep(accept string) []string {
	y.Helper()
	data := []byte("name: demo\nsteps:\n  - id: work\n    run: 'true'\n    accept:\n      done: " + accept + "\n")
	plan, err := planfile.Read("plan.yaml", data)
	if err != nil {
		y.Fatal(err)
	}
	run, err := runs.Create(y.Context(), y.Project, runs.CreateOptions{Kind: pawl.PlanRun, Plan: plan, Data: data, Version: "test"})
	if err != nil {
		y.Fatal(err)
	}
	return append(y.env, "PAWL_PROJECT="+y.Root, "PAWL_RUN="+string(run), "PAWL_STEP=work", "PAWL_ATTEMPT=1",
		"PAWL_EVENTS="+filepath.Join(y.RunDir(run), "steps/work/1/events.jsonl"))
}

// TestBriefedByPrompt: an agent whose prompt has the brief gets none from its hook, until it loses its context.
func TestBriefedByPrompt(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	y.env = y.inStep("test -e done.txt")
	for _, c := range []struct {
		session, example string
		briefed, want    bool
	}{
		{"s1", "SessionStart", false, true}, {"s2", "SessionStart", true, false}, {"s2", "SessionStart compact", true, true},
	} {
		env := y.env
		if c.briefed {
			y.env = append(slices.Clone(env), agents.BriefedVar+"=1")
		}
		if told := y.call(y.agent("claude", c.session), c.example, "", nil); strings.Contains(told.Context, "# Brief of run") != c.want {
			t.Errorf("%+v: told %q", c, told.Context)
		}
		y.env = env
	}
}

// TestStopInStep ends the turn of an agent that works on a step. The turn is held open while a check fails, but not twice.
func TestStopInStep(t *testing.T) {
	t.Parallel()
	for name, event := range map[string]string{"claude": "Stop", "codex": "Stop", "gemini": "AfterAgent", "copilot": "Stop", "opencode": "Stop"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			y := newYard(t)
			y.env = y.inStep("test -e done.txt")
			a, holds := y.agent(name, "s1"), name != "opencode"
			y.call(a, "SessionStart", "", nil)
			if began := last[pawl.SessionBegan](y); began.Step != "work" {
				t.Errorf("began: %+v", began)
			}
			if got := y.call(a, event, "", nil); (got.Hold != "") != holds {
				t.Errorf("held: %q", got.Hold)
			}
			before := len(y.events())
			if got := y.call(a, event, "", map[string]any{"stop_hook_active": true}); got.Hold != "" {
				t.Errorf("held again: %q", got.Hold)
			}
			if got := y.after(before); holds && !slices.Equal(got, []pawl.EventType{"session.turned"}) {
				t.Errorf("journaled at the second end: %q", got)
			}
			y.write("done.txt", "")
			before = len(y.events())
			if got := y.call(a, event, "", nil); got.Hold != "" {
				t.Errorf("held though the check passes: %q", got.Hold)
			}
			if got := y.after(before); !slices.Equal(got, []pawl.EventType{"session.turned"}) {
				t.Errorf("journaled: %q", got)
			}
		})
	}
}

// TestOwnPrompts prompts sessions in a step, where nobody types, and outside of one. Only what a person asked counts as asked.
func TestOwnPrompts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		agent, event, source string
		step, own            bool
	}{
		{"claude", "UserPromptSubmit", "", false, false}, {"claude", "UserPromptSubmit", "user", false, false}, {"claude", "UserPromptSubmit", "sdk", false, false},
		{"claude", "UserPromptSubmit", "system", false, true}, {"claude", "UserPromptSubmit", "schedule_wakeup", false, true},
		{"claude", "UserPromptSubmit", "user", true, true}, {"codex", "UserPromptSubmit", "", true, true}, {"gemini", "BeforeAgent", "", true, true},
		{"opencode", "UserPromptSubmit", "", true, true}, {"copilot", "UserPromptSubmit", "", true, true}, {"copilot", "UserPromptSubmit", "", false, false},
	} {
		y := newYard(t)
		if c.step {
			y.env = y.inStep("'true'")
		}
		a := y.agent(c.agent, "s1")
		y.call(a, "SessionStart", "", nil)
		y.call(a, c.event, "", map[string]any{"prompt": "Dig.", "source": c.source})
		p := last[pawl.SessionPrompted](y)
		s, err := runs.LoadState(t.Context(), y.Project, y.runs()[0])
		if err != nil {
			t.Fatal(err)
		}
		asked := map[bool]string{false: "Dig.", true: ""}[c.own]
		if x := s.Sessions[p.Session]; p.Own != c.own || p.Text != "Dig." || x.Asked != asked || x.First != asked || x.Doing != pawl.SessionWorks {
			t.Errorf("%+v: journaled %+v, asked %q", c, p, x.Asked)
		}
	}
}

// TestCheckpointsWanted looks at when a hook asks for a checkpoint, and that it does not where snapshots are off.
func TestCheckpointsWanted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		example, tool, config string
		kind                  pawl.CheckpointKind
		want                  bool
	}{
		{"PostToolUse", "Write", "", pawl.CheckpointTool, true},
		{"PostToolUse", "Read", "", pawl.CheckpointTool, false},
		{"PostToolUse", "Write", "snapshots: {off: true}\n", pawl.CheckpointTool, false},
		{"PreCompact", "", "", pawl.CheckpointBeforeCompaction, true},
		{"SessionStart", "", "", pawl.CheckpointTool, true},
		{"SessionStart compact", "", "", pawl.CheckpointTool, false},
		{"PreToolUse", "Write", "", pawl.CheckpointTool, false},
	} {
		y := newYard(t)
		if err := os.WriteFile(y.Config(), []byte(c.config), 0o600); err != nil {
			t.Fatal(err)
		}
		y.call(y.agent("claude", "s1"), c.example, "", map[string]any{"tool_name": c.tool})
		if _, err := os.Stat(y.CheckpointRequest(c.kind)); (err == nil) != c.want {
			t.Errorf("%s of %q with %q: %v; log: %s", c.example, c.tool, c.config, err, y.noted())
		}
	}
}

// TestKeeper lets a hook start the process that takes checkpoints, and waits for the checkpoint.
func TestKeeper(t *testing.T) {
	t.Parallel()
	y := newYardWithKeeper(t)
	y.write("a.txt", "one\n")
	y.call(y.agent("claude", "s1"), "SessionStart", "", nil)
	deadline := time.Now().Add(20 * time.Second)
	for !slices.Contains(y.after(0), "checkpoint.saved") {
		if time.Now().After(deadline) {
			t.Fatalf("no checkpoint: %q; log: %s", y.after(0), y.noted())
		}
		<-time.After(10 * time.Millisecond)
	}
	if saved := last[pawl.CheckpointSaved](y); saved.Kind != pawl.CheckpointTool {
		t.Errorf("saved: %+v", saved)
	}
	for { // until the process has ended
		if lock, err := y.LockCheckpointer(); err == nil {
			lock.Unlock()
			break
		} else if time.Now().After(deadline) {
			t.Fatal(err)
		}
		<-time.After(10 * time.Millisecond)
	}
}
