package kills

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"pawl"
	"pawl/internal/agents/agentstest"
	"pawl/internal/disk/disktest"
	"pawl/internal/journal"
	"pawl/test/stories/storytest"
)

// attended is a project in which a session's hooks are called, again and again from the same beginning.
type attended struct{ *ledger }

func newHooked(t *testing.T) *attended {
	l := &ledger{T: t, dir: filepath.Join(t.TempDir(), "story"), saved: filepath.Join(t.TempDir(), "saved"), binary: storytest.Build(t, "faults")}
	if err := os.MkdirAll(l.path("project"), 0o700); err != nil {
		t.Fatal(err)
	}
	l.must("init")
	h := &attended{l}
	h.session("before", nil) // so that there is something to be told of
	h.calm()
	h.copy(l.dir, l.saved)
	t.Cleanup(func() { storytest.EndKeepers(l.dir) })
	return h
}

// calm ends who takes checkpoints.
func (h *attended) calm() {
	h.Helper()
	if !storytest.Until(func() bool { storytest.EndKeepers(h.dir); return len(storytest.RunningIn(h.dir)) == 0 }) {
		h.Fatal("still running: ", storytest.RunningIn(h.dir))
	}
}

// actions are what a session does: the event, and the payload's values that identify it.
var actions = []struct {
	event string
	set   map[string]any
	tells pawl.EventType
}{
	{"SessionStart", nil, "session.began"},
	{"UserPromptSubmit", map[string]any{"prompt": "plant roses"}, "session.prompted"},
	{"PreToolUse of a task list", map[string]any{"tool_use_id": "t1"}, "operation.begun"},
	{"PostToolUse", map[string]any{"tool_name": "TodoWrite", "tool_input": map[string]any{}, "tool_use_id": "t1"}, "operation.ended"},
	{"PreToolUse", map[string]any{"tool_input": map[string]any{"command": "make one"}, "tool_use_id": "t2"}, "operation.begun"},
	{"PostToolUse", map[string]any{"tool_input": map[string]any{"command": "make one"}, "tool_use_id": "t2"}, "operation.ended"},
	{"PreCompact", nil, "session.compacted"},
	{"SessionStart compact", nil, "session.began"},
	{"PreToolUse", map[string]any{"tool_input": map[string]any{"command": "make two"}, "tool_use_id": "t3"}, "operation.begun"},
	{"PostToolUseFailure", map[string]any{"tool_input": map[string]any{"command": "make two"}, "tool_use_id": "t3"}, "operation.ended"},
	{"Stop", map[string]any{"last_assistant_message": "planted"}, "session.turned"},
	{"SessionEnd", nil, "session.ended"},
}

// session has a session do all its actions, and returns for each whether its hook was killed. One that was not must have ended
// well, with an answer that the agent takes.
func (h *attended) session(id string, fault []string) (killed []bool) {
	h.Helper()
	a, err := agentstest.New("claude", id, h.path("project"), io.Discard)
	if err != nil {
		h.Fatal(err)
	}
	for _, d := range actions {
		payload, err := a.Payload(d.event, "", d.set)
		if err != nil {
			h.Fatal(err)
		}
		var out bytes.Buffer
		cmd := exec.Command(h.binary, "hook", "claude")
		cmd.Dir, cmd.Env = h.path("project"), append(os.Environ(), "HOME="+h.dir, "XDG_STATE_HOME=", "XDG_CONFIG_HOME=")
		cmd.Env = append(cmd.Env, fault...)
		cmd.Stdin, cmd.Stdout = bytes.NewReader(payload), &out
		err = cmd.Run()
		dead := killedBy(err)
		if err != nil && !dead {
			h.Errorf("%s: %v", d.event, err)
		}
		event, _, _ := strings.Cut(d.event, " ")
		if _, err := agentstest.Read("claude", event, out.Bytes()); err != nil && !dead {
			h.Error(err)
		}
		killed = append(killed, dead)
	}
	return killed
}

func killedBy(err error) bool {
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// journaled returns the types of the events of a session that are in the project's journals, in order, which must be whole.
func (h *attended) journaled(id string) (types []pawl.EventType) {
	h.Helper()
	for _, e := range h.events(id) {
		if e.Type != "checkpoint.saved" && e.Type != "operation.judged" && e.Type != "session.told" && e.Type != "item.named" {
			types = append(types, e.Type)
		}
	}
	return types
}

// inDoubt counts the tool calls of a session that may have changed something and have no outcome.
func (h *attended) inDoubt(id string) int {
	h.Helper()
	open := map[pawl.OperationID]bool{}
	for _, e := range h.events(id) {
		payload, err := e.Payload()
		if err != nil {
			h.Fatal(err)
		}
		switch p := payload.(type) {
		case pawl.OperationBegun:
			open[p.ID] = p.Kind != pawl.OperationReads
		case pawl.OperationEnded:
			delete(open, p.Operation)
		}
	}
	maps.DeleteFunc(open, func(_ pawl.OperationID, changes bool) bool { return !changes })
	return len(open)
}

// events returns the events of a session that are in the project's journals, which must be whole.
func (h *attended) events(id string) (events []pawl.Event) {
	h.Helper()
	homes, err := filepath.Glob(h.path("project", ".pawl", "runs", "*"))
	if err != nil {
		h.Fatal(err)
	}
	for _, home := range homes {
		for _, f := range journal.Check(home) {
			if f.Level == pawl.Bad {
				h.Errorf("%+v", f)
			}
		}
		log, err := journal.Open(filepath.Dir(home), pawl.RunID(filepath.Base(home)))
		if errors.Is(err, journal.ErrEmpty) {
			continue
		}
		if err != nil {
			h.Fatal(err)
		}
		for e, err := range log.Events(0) {
			if err != nil {
				h.Fatal(err)
			}
			if e.By.Session == id {
				events = append(events, e)
			}
		}
		if err := log.Close(); err != nil {
			h.Fatal(err)
		}
	}
	return events
}

// within reports whether what was acknowledged was journaled in order, and nothing beside it but what a killed hook may have
// journaled before its death. A session of which the hook that died has left no note begins once more in the journal.
func within(types []pawl.EventType, lost []bool) bool {
	next := 0
	for i, d := range actions {
		if again := (pawl.SessionBegan{}).Event(); next+1 < len(types) && types[next] == again && d.tells != again && types[next+1] == d.tells {
			next++
		}
		if next < len(types) && types[next] == d.tells {
			next++
		} else if !lost[i] {
			return false
		}
	}
	return next == len(types)
}

// TestHookDiesAnywhere kills a hook, or makes a call of it fail, at the calls that change the disk, in a session of twelve hooks.
// What the other hooks acknowledged is in the journal, which is intact. The brief of the next session has exactly the calls without
// an outcome.
func TestHookDiesAnywhere(t *testing.T) {
	t.Parallel()
	for i, kind := range []string{"die", "ENOSPC", "EIO"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			h := newHooked(t)
			last := 0
			for n := range disktest.FaultPoints(2*i, 6, math.MaxInt) {
				h.copy(h.saved, h.dir)
				calls := h.path("calls")
				fault := []string{fmt.Sprintf("%s=%s:%d", disktest.FaultVar, kind, n), disktest.FaultOnly + "=hook", disktest.FaultCount + "=" + calls}
				lost := h.session("one", fault)
				h.calm()
				if info, err := os.Stat(calls); err != nil || info.Size() < int64(n) {
					if types := h.journaled("one"); !within(types, make([]bool, len(actions))) {
						t.Errorf("without a fault: %v", types)
					}
					break
				}
				if kind != "die" { // then any hook may have had to give up, but only one
					for i := range lost {
						lost[i] = true
					}
				}
				types := h.journaled("one")
				if !within(types, lost) || len(types) < len(actions)-1 {
					t.Errorf("journaled: %v; killed: %v", types, lost)
				}
				h.audit()
				h.calm()
				if last = n; t.Failed() {
					t.Fatalf("%s at call %d", kind, n)
				}
			}
			if last < 28 {
				t.Errorf("%s: the last call that was hit is %d", kind, last)
			}
		})
	}
}

// TestHookDiesBeforeItHasTold kills the hook of a session's start at the calls that change the disk, after an earlier session left a
// tool call without an outcome. The brief of that session has the call, or else the brief of the next one has it.
func TestHookDiesBeforeItHasTold(t *testing.T) {
	t.Parallel()
	h := newHooked(t)
	roses := map[string]any{"tool_name": "Write", "tool_input": map[string]any{"file_path": h.path("project", "roses"), "content": "red"}, "tool_use_id": "t9"}
	h.call("claude", "gone", "PreToolUse", roses)
	h.call("claude", "gone", "SessionEnd", nil)
	h.calm()
	h.copy(h.dir, h.saved)
	for n := range disktest.FaultPoints(0, 2, math.MaxInt) {
		h.copy(h.saved, h.dir)
		calls := h.path("calls")
		told, dead := h.call("claude", "one", "SessionStart", nil, fmt.Sprintf("%s=die:%d", disktest.FaultVar, n), disktest.FaultOnly+"=hook", disktest.FaultCount+"="+calls)
		h.calm()
		h.call("claude", "one", "Stop", map[string]any{"last_assistant_message": "planted"})
		again, _ := h.call("codex", "two", "SessionStart", nil)
		h.calm()
		if !strings.Contains(told+again, "`roses`") || !dead && strings.Contains(again, "`roses`") {
			t.Fatalf("at call %d (killed: %v): told %q, the next session %q", n, dead, told, again)
		}
		if !dead {
			if n < 12 {
				t.Errorf("the hook makes only %d calls", n-1)
			}
			return
		}
	}
}

// call has one hook called, and returns what it printed, and whether it was killed.
func (h *attended) call(agent, id, event string, set map[string]any, fault ...string) (string, bool) {
	h.Helper()
	payload, err := (&agentstest.Agent{Name: agent, Session: id, Dir: h.path("project")}).Payload(event, "", set)
	if err != nil {
		h.Fatal(err)
	}
	cmd := exec.Command(h.binary, "hook", agent)
	cmd.Dir, cmd.Env, cmd.Stdin = h.path("project"), append(append(os.Environ(), "HOME="+h.dir), fault...), bytes.NewReader(payload)
	out, err := cmd.Output()
	if err != nil && !killedBy(err) {
		h.Fatal(err)
	}
	return string(out), err != nil
}

// audit starts another session, which must get the tool calls without an outcome and work, and checks the project.
func (h *attended) audit() {
	h.Helper()
	payload, err := (&agentstest.Agent{Name: "codex", Session: "two", Dir: h.path("project")}).Payload("SessionStart", "", nil)
	if err != nil {
		h.Fatal(err)
	}
	cmd := exec.Command(h.binary, "hook", "codex")
	cmd.Dir, cmd.Env, cmd.Stdin = h.path("project"), append(os.Environ(), "HOME="+h.dir), bytes.NewReader(payload)
	out, err := cmd.Output()
	if err != nil {
		h.Error(err)
	}
	answer, err := agentstest.Read("codex", "SessionStart", out)
	if err != nil {
		h.Error(err)
	}
	if told, want := strings.Count(answer.Context, "\n- in doubt: `"), h.inDoubt("one"); told < want {
		h.Errorf("%d in doubt, and told of %d:\n%s", want, told, answer.Context)
	}
	if types := h.journaled("two"); !slices.Equal(types, []pawl.EventType{"session.began"}) {
		h.Errorf("the next session: %v", types)
	}
	if said, code := h.pawl(nil, "verify"); code != 0 || !strings.Contains(said, " 0 faults") {
		h.Errorf("verify: exit code %d\n%s", code, said)
	}
}

// TestKeeperDiesAnywhere kills the keeper, which takes checkpoints for hooks, or makes a call of it fail, at the calls that change the
// disk. Snapshots and journal stay intact; the next keeper takes the next checkpoint.
func TestKeeperDiesAnywhere(t *testing.T) {
	t.Parallel()
	for i, kind := range []string{"die", "ENOSPC", "EIO"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			h := newHooked(t)
			last := 0
			for n := range disktest.FaultPoints(i, 3, math.MaxInt) {
				h.copy(h.saved, h.dir)
				calls := h.path("calls")
				h.want("first")
				h.keep("first", fmt.Sprintf("%s=%s:%d", disktest.FaultVar, kind, n), disktest.FaultCount+"="+calls)
				if info, err := os.Stat(calls); err != nil || info.Size() < int64(n) {
					break
				}
				h.want("second")
				if !h.keep("second") {
					t.Error("no second checkpoint")
				}
				if said, code := h.pawl(nil, "verify"); code != 0 || !strings.Contains(said, " 0 faults") {
					t.Errorf("verify: exit code %d\n%s", code, said)
				}
				if last = n; t.Failed() {
					t.Fatalf("%s at call %d", kind, n)
				}
			}
			if last < 8 {
				t.Errorf("%s: the last call that was hit is %d", kind, last)
			}
		})
	}
}

// want changes a file and requests exactly one checkpoint, as a hook does.
func (h *attended) want(why string) {
	h.Helper()
	if err := os.RemoveAll(h.path("project", ".pawl", "wanted.before_compaction")); err != nil {
		h.Fatal(err)
	}
	runs, err := filepath.Glob(h.path("project", ".pawl", "runs", "*"))
	if err != nil || len(runs) != 1 {
		h.Fatal(runs, err)
	}
	wanted := fmt.Sprintf(`{"run":%q,"kind":"tool","why":%q,"session":"claude:one"}`, filepath.Base(runs[0]), why)
	for name, text := range map[string]string{h.path("project", "file"): why, h.path("project", ".pawl", "wanted.tool"): wanted} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			h.Fatal(err)
		}
	}
}

// keep has checkpoints taken until that one is journaled, or the process ends. It reports whether it is.
func (h *attended) keep(why string, fault ...string) (kept bool) {
	h.Helper()
	cmd := exec.Command(h.binary, "hook-keeper", h.path("project"))
	cmd.Dir, cmd.Env = h.path("project"), append(os.Environ(), "HOME="+h.dir)
	cmd.Env = append(cmd.Env, fault...)
	if err := cmd.Start(); err != nil {
		h.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		cmd.Wait() // it was killed, or has given up
		close(ended)
	}()
	if !storytest.Until(func() bool {
		select {
		case <-ended:
			return true
		default:
			kept = strings.Contains(h.journal(), why)
			return kept
		}
	}) {
		h.Error("it neither keeps nor ends")
	}
	cmd.Process.Kill() // it would stay for a while
	<-ended
	return strings.Contains(h.journal(), why)
}

func (h *attended) journal() string {
	paths, err := filepath.Glob(h.path("project", ".pawl", "runs", "*", journal.FileName))
	if err != nil || len(paths) != 1 {
		h.Fatal(paths, err)
	}
	data, err := os.ReadFile(paths[0])
	if err != nil {
		h.Fatal(err)
	}
	return string(data)
}
