package sessions_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pawl"
	"pawl/internal/engine/enginetest"
	"pawl/internal/project"
	"pawl/internal/runs"
	"pawl/internal/sessions"
	"pawl/internal/supervise"
	"pawl/internal/supervise/process"
)

type projectOf = *project.Project

const agent pawl.SessionID = "claude:one"

// by is how the hooks of an agent's session write.
func by(id pawl.SessionID) pawl.Author {
	return pawl.Author{Kind: pawl.ByHook, Name: id.Agent(), Session: id.Native()}
}

// session begins a session in the project's current run, or in a new session run.
func session(p *enginetest.Project, began pawl.SessionBegan) sessions.Welcome {
	p.Helper()
	run, _, err := sessions.RunOfSession(p.Context(), p.Project, began.Session, "test")
	p.Check(err)
	p.Run = run
	w, err := sessions.BeginSession(p.Context(), p.Project, run, began, sessions.Briefing{})
	p.Check(err)
	return w
}

// says journals what an agent's hooks say.
func says(p *enginetest.Project, id pawl.SessionID, payloads ...pawl.Payload) {
	p.Helper()
	act := func(projectOf, *runs.Run) ([]pawl.Payload, error) { return payloads, nil }
	r, err := runs.Perform(p.Context(), p.Project, p.Run, by(id), act)
	p.Check(err)
	p.Check(r.Log.Close())
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// intent is a tool call that is about to happen.
func intent(id string, kind pawl.OperationKind, summary string) pawl.OperationBegun {
	return pawl.OperationBegun{Operation: pawl.Operation{
		ID: pawl.OperationIDOf(agent, id), Session: agent, Tool: "Bash", Kind: kind, Summary: summary, Digest: id, Clock: time.Now().Add(-10 * time.Millisecond),
	}}
}

// writing is a tool call that writes a file.
func writing(id, path, was, will string) pawl.OperationBegun {
	o := intent(id, pawl.OperationFiles, "write "+path)
	o.Tool, o.Paths, o.Expect = "Write", []string{path}, []pawl.Expected{{Path: path, Will: hash(will)}}
	if was != "" {
		o.Expect[0].Was = hash(was)
	}
	return o
}

// The brief of the first session in an empty project is empty.
func TestFirstSession(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	if w := session(p, pawl.SessionBegan{Session: agent}); w.Brief != "" || w.Others != nil || w.Operations != nil {
		t.Errorf("told %+v", w)
	}
	if run, known, err := sessions.RunOfSession(t.Context(), p.Project, agent, "test"); run != p.Run || !known || err != nil {
		t.Errorf("its run is %s, known %v, %v", run, known, err)
	}
	q := enginetest.New(t)
	q.Write(".pawl/MEMORY.md", "# Memory\n\n## Gotchas\n\n- Mind the gap.\n")
	if w := session(q, pawl.SessionBegan{Session: agent}); !strings.Contains(w.Brief, "Mind the gap.") {
		t.Errorf("it is told %q", w.Brief)
	}
	if w := session(q, pawl.SessionBegan{Session: "claude:one/sub"}); w.Brief != "" {
		t.Errorf("a subagent is told %q", w.Brief)
	}
}

// A tool call whose agent ended unexpectedly is judged by its effects. The next session's brief reports it once.
func TestToolCallsInDoubt(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	session(p, pawl.SessionBegan{Session: agent})
	p.Write("half.txt", "half")
	says(p, agent,
		writing("1", "done.txt", "", "done"), writing("2", "never.txt", "", "never"), writing("3", "half.txt", "", "whole"),
		intent("4", pawl.OperationOther, "ask another machine"), intent("5", pawl.OperationReads, "look"), intent("6", pawl.OperationCommand, "make all"))
	p.Write("done.txt", "done")
	says(p, agent, pawl.SessionEnded{Session: agent})
	w := session(p, pawl.SessionBegan{Session: "claude:two"})
	verdicts := map[pawl.OperationID]pawl.OperationVerdict{}
	for _, d := range w.Operations {
		verdicts[d.ID] = d.Verdict
	}
	for id, want := range map[string]pawl.OperationVerdict{"1": pawl.OperationDone, "2": pawl.OperationNotDone, "3": pawl.OperationPartly, "4": pawl.OperationUnknown} {
		if got := verdicts[pawl.OperationIDOf(agent, id)]; got != want {
			t.Errorf("call %s: %q, want %q", id, got, want)
		}
	}
	if !strings.Contains(w.Brief, "done.txt") {
		t.Errorf("brief %s", w.Brief)
	}
	p.Check(w.MarkReported(t.Context(), p.Project, by("claude:two"), func(text string) string { return text }))
	if judged := enginetest.Payloads[pawl.OperationJudged](p); len(judged) != len(w.Operations) || judged[0].Told != "claude:two" {
		t.Errorf("judged %+v", judged)
	}
}

// The brief also reports tool calls in doubt of another run, and the verdicts are journaled in that run.
func TestToolCallsInDoubtElsewhere(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	session(p, pawl.SessionBegan{Session: agent})
	before := p.Run
	says(p, agent, writing("1", "never.txt", "", "never"), pawl.SessionEnded{Session: agent})
	p.Create("name: demo\nsteps: [{id: a, run: \"true\"}]\n")
	w := session(p, pawl.SessionBegan{Session: "claude:two"})
	if p.Run == before || !slices.Equal(w.Runs, []pawl.RunID{before}) || len(w.Operations) != 1 || !w.Operations[0].Overlaps {
		t.Fatalf("in %s: %+v", p.Run, w)
	}
	p.Check(w.MarkReported(t.Context(), p.Project, by("claude:two"), strings.ToUpper))
	p.Run = before
	if p.Count("operation.judged") != 1 {
		t.Errorf("events %v", p.Story())
	}
}

// A run that cannot be read is named: what is in doubt there is not known.
func TestUnreadableRunIsNamed(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	p.Create("name: broken\nsteps: [{id: a, run: \"true\"}]\n")
	p.Check(os.WriteFile(p.RunDir(p.Run)+"/journal.jsonl", []byte("damaged\nlines\n"), 0o600))
	w := session(p, pawl.SessionBegan{Session: agent})
	if len(w.UnreadableRuns) != 1 || !strings.HasPrefix(w.UnreadableRuns[0].Where, "broken") {
		t.Errorf("unread %+v", w.UnreadableRuns)
	}
}

// A command of which something still runs is not over: its process is found by its command line.
func TestCommandThatStillRuns(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	session(p, pawl.SessionBegan{Session: agent})
	const line = "sleep 1234 && echo the-telling-command"
	says(p, agent, intent("1", pawl.OperationCommand, line))
	cmd := exec.Command("/bin/sh", "-c", line)
	cmd.Dir, cmd.SysProcAttr = p.Root, &syscall.SysProcAttr{Setpgid: true}
	p.Check(cmd.Start())
	end := func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); _ = cmd.Wait() }
	t.Cleanup(end)
	says(p, agent, pawl.SessionEnded{Session: agent})
	w := session(p, pawl.SessionBegan{Session: "claude:two"})
	if len(w.Operations) != 1 || !w.Operations[0].Runs || !strings.Contains(strings.Join(w.Operations[0].Evidence, "\n"), "still running: process ") {
		t.Errorf("doubts %+v", w.Operations)
	}
	end()
	p.Until("nothing of the command runs", func() bool {
		found := sessions.InDoubt(t.Context(), p.Project, p.State())
		return len(found) == 1 && !found[0].Runs
	})
}

// TestChildOfAgent: the outcome of a call got lost, its turn ended, and what it started is a child of the agent, which lives.
func TestChildOfAgent(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	self, err := process.Identify(os.Getpid())
	p.Check(err)
	session(p, pawl.SessionBegan{Session: agent, Process: &self})
	p.Check(os.WriteFile(filepath.Join(p.Root, "serve.sh"), []byte("echo; sleep 1234\n"), 0o600))
	says(p, agent, intent("1", pawl.OperationCommand, "cd . && sh serve.sh tellingly"))
	serve := func() int {
		cmd := exec.Command("/bin/sh", "serve.sh", "tellingly")
		cmd.Dir, cmd.SysProcAttr = p.Root, &syscall.SysProcAttr{Setpgid: true}
		p.Check(cmd.Start())
		t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); _ = cmd.Wait() })
		return cmd.Process.Pid
	}
	first := serve()
	says(p, agent, pawl.SessionTurned{Session: agent, Doing: pawl.SessionIdle})
	names := func(pid int) bool {
		found := sessions.InDoubt(t.Context(), p.Project, p.State())
		if len(found) != 1 {
			t.Fatalf("in doubt: %+v", found)
		}
		return strings.Contains(strings.Join(found[0].Evidence, "\n"), fmt.Sprintf("still running: process %d,", pid))
	}
	if !names(first) {
		t.Error("the process is not named")
	}
	says(p, agent, intent("2", pawl.OperationCommand, "sh serve.sh tellingly"))
	if second := serve(); names(second) || !names(first) {
		t.Error("a process of the next call is named, or that of the first one is not")
	}
}

// TestOpenCallBeside: what a call changes whose session lives is not taken for the effect of an earlier one in doubt.
func TestOpenCallBeside(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	self, err := process.Identify(os.Getpid())
	p.Check(err)
	session(p, pawl.SessionBegan{Session: agent, Process: &self})
	p.Write("part.txt", "x")
	says(p, agent, intent("1", pawl.OperationCommand, "python3 put.py other.txt"))
	says(p, agent, pawl.SessionTurned{Session: agent, Doing: pawl.SessionIdle})
	says(p, agent, intent("2", pawl.OperationCommand, "chmod u+x part.txt"))
	p.Check(os.Chmod(filepath.Join(p.Root, "part.txt"), 0o700))
	found := sessions.InDoubt(t.Context(), p.Project, p.State())
	if len(found) != 1 || found[0].Verdict != pawl.OperationUnknown {
		t.Errorf("%+v", found)
	}
}

// A resumed session gets only what changed since its last brief.
func TestNews(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	p.Create("name: demo\nsteps: [{id: a, run: \"true\"}, {id: b, gate: {type: decision, ask: Which?, options: [x, y]}}, {id: c, run: \"false\"}]\n")
	session(p, pawl.SessionBegan{Session: agent})
	p.WantKind(p.GoOn(), pawl.KindAtGate)
	p.Act(runs.Choose(p.Gate().ID, "x", "it is better"))
	p.Act(runs.Learn(pawl.Memory{Kind: pawl.Gotcha, Text: "Mind the gap."}))
	p.Act(runs.Block(pawl.Blocker{Text: "no key"}))
	p.Act(runs.Unblock(1, "found"))
	says(p, "claude:two", pawl.SessionBegan{Session: "claude:two"}, pawl.SessionPrompted{Session: "claude:two", Text: "Do it"})
	says(p, agent, intent("1", pawl.OperationCommand, "own work"))
	p.WantKind(p.GoOn(), pawl.KindRunFailed)
	p.Act(runs.Retry("c", "try it"))
	text, err := sessions.Brief(t.Context(), p.Project, p.Run, sessions.Briefing{Session: agent, After: 4})
	p.Check(err)
	for _, want := range []string{"step a done", "Which?", "answered: chosen x", "decision: x", "learned: Mind the gap.", "blocker: no key", "blocker 1 cleared", "prompt to claude:two: Do it", "step c failed", "step c queued for retry"} {
		if !strings.Contains(text.Text, want) {
			t.Errorf("no word of %q in:\n%s", want, text.Text)
		}
	}
	if strings.Contains(text.Text, "ran Bash: own work") {
		t.Error("it is told of its own work as news")
	}
}

// Sessions that live are named to others; the one above a process is found by the process tree.
func TestSessionsThatLive(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	self, err := process.Identify(os.Getpid())
	p.Check(err)
	session(p, pawl.SessionBegan{Session: agent, Process: &self})
	w := session(p, pawl.SessionBegan{Session: "codex:two"})
	if !slices.Equal(w.Others, []pawl.SessionID{agent}) {
		t.Errorf("others %v", w.Others)
	}
	run, id, err := sessions.SessionAbove(t.Context(), p.Project, os.Getpid())
	if run != p.Run || id != agent || err != nil {
		t.Errorf("above us: %s in %s, %v", id, run, err)
	}
	says(p, agent, pawl.SessionEnded{Session: agent})
	if _, id, err := sessions.SessionAbove(t.Context(), p.Project, os.Getpid()); id != "" || err != nil {
		t.Errorf("it has ended: %s, %v", id, err)
	}
}

func TestSessionGone(t *testing.T) {
	t.Parallel()
	self, err := process.Identify(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	other := self
	other.Start++
	for name, c := range map[string]struct {
		s    pawl.SessionState
		gone bool
	}{
		"ended":          {pawl.SessionState{Doing: pawl.SessionIsEnded}, true},
		"alive":          {pawl.SessionState{SessionBegan: pawl.SessionBegan{Process: &self}}, false},
		"another's pid":  {pawl.SessionState{SessionBegan: pawl.SessionBegan{Process: &other}}, true},
		"unknown, quiet": {pawl.SessionState{Seen: time.Now().Add(-time.Hour)}, true},
		"unknown":        {pawl.SessionState{Seen: time.Now()}, false},
	} {
		if got := sessions.AgentGone(&c.s); got != c.gone {
			t.Errorf("%s: gone %v", name, got)
		}
	}
}

// The checks of a step as they are now.
func TestUnmet(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	p.Create("name: demo\nsteps: [{id: a, run: \"true\", accept: {good: \"true\", bad: \"echo it is bad; exit 3\"}}]\n")
	unmet, err := sessions.FailingChecks(t.Context(), p.Project, p.Run, pawl.AttemptRef{Step: "a", Attempt: 1}, os.Environ())
	p.Check(err)
	if len(unmet) != 1 || !strings.Contains(unmet[0], "bad") || !strings.Contains(unmet[0], "exit status 3\nit is bad") {
		t.Errorf("unmet %q", unmet)
	}
	if none, err := sessions.FailingChecks(t.Context(), p.Project, p.Run, pawl.AttemptRef{Step: "absent"}, nil); err != nil || none != nil {
		t.Errorf("of no step: %q, %v", none, err)
	}
}

// A brief tells what a run came to, what is in doubt, and what the watchdog did.
func TestBriefOfARun(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	if b, err := sessions.Brief(t.Context(), p.Project, "", sessions.Briefing{}); err != nil || b.Text == "" {
		t.Errorf("without a run: %q, %v", b.Text, err)
	}
	p.Create("name: demo\ngoal: All is well\nsteps:\n  - {id: one, run: echo one > one.txt, outputs: [one.txt]}\n" +
		"  - {id: two, run: 'echo part > two.txt; touch begun; until test -e go; do sleep 0.02; done', outputs: [two.txt]}\n")
	gone := make(chan bool)
	go func() { gone <- p.KilledAt("attempt.heartbeat", 1) }()
	p.Until("the step has begun", func() bool { return p.Exists("begun") && p.Count("attempt.started") == 2 })
	brief := func(wants ...string) {
		t.Helper()
		b, err := sessions.Brief(t.Context(), p.Project, p.Run, sessions.Briefing{})
		p.Check(err)
		for _, want := range wants {
			if !strings.Contains(b.Text, want) {
				t.Errorf("no word of %q in:\n%s", want, b.Text)
			}
		}
	}
	brief("All is well", "one", "two")
	holder, _ := p.EngineHolder()
	p.Check(syscall.Kill(holder.PID, syscall.SIGKILL))
	<-gone
	dir := p.AttemptDir(p.State().Live()[0].AttemptRef, p.Run)
	p.Check(supervise.Kill(dir))
	p.Check(supervise.Attach(dir).Wait(t.Context()))
	brief("no result file", "all declared outputs exist")
	p.Write("one.txt", "changed")
	p.Write("new.txt", "new")
	brief("one.txt", "new.txt")
	p.Write("go", "")
	p.Check(p.GoOn())
	brief("completed")
}

// What the agent's own record says about a tool call settles it, or says why it has no outcome.
func TestRecordsOfAgents(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	result := func(call, content, more string) string {
		return fmt.Sprintf(`{"type":"assistant","timestamp":"2026-11-23T10:00:01Z","message":{"role":"assistant","content":[{"type":"tool_use","id":%q,"name":"Bash","input":{}}]}}
{"type":"user","timestamp":"2026-11-23T10:00:02Z","message":{"role":"user","content":[{"tool_use_id":%q,"type":"tool_result","content":%q%s}]}}
`, call, call, content, more)
	}
	record := filepath.Join(t.TempDir(), "record.jsonl")
	p.Check(os.WriteFile(record, []byte(result("went", "built", "")+result("failed", "Exit code 4\nno wood", `,"is_error":true`)+
		result("refused", "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the "+
			"new_string was NOT written to the file). To tell you how to proceed, the user said:\nno", `,"is_error":true`)), 0o600))
	session(p, pawl.SessionBegan{Session: agent, Transcript: record})
	for _, call := range []string{"went", "failed", "refused", "open"} {
		says(p, agent, intent(call, pawl.OperationCommand, "make "+call))
	}
	says(p, agent, pawl.SessionEnded{Session: agent})
	w := session(p, pawl.SessionBegan{Session: "claude:two"})
	verdicts := map[pawl.OperationID]pawl.OperationVerdict{}
	for _, d := range w.Operations {
		verdicts[d.ID] = d.Verdict
	}
	want := map[pawl.OperationID]pawl.OperationVerdict{pawl.OperationIDOf(agent, "refused"): pawl.OperationRefused, pawl.OperationIDOf(agent, "open"): pawl.OperationUnknown}
	if !maps.Equal(verdicts, want) {
		t.Errorf("verdicts %v, want %v", verdicts, want)
	}
	if !strings.Contains(w.Brief, "its agent's own record says that the user refused it") {
		t.Errorf("brief %s", w.Brief)
	}
	p.Check(w.MarkReported(t.Context(), p.Project, by("claude:two"), func(text string) string { return text }))
	x := p.State().Sessions[agent]
	says(p, agent, intent("later", pawl.OperationCommand, "make later"), pawl.OperationEnded{Operation: pawl.OperationIDOf(agent, "later"), Session: agent})
	p.Check(os.WriteFile(record, []byte(result("later", "Exit code 7\nno nails", `,"is_error":true`)), 0o600))
	if w := session(p, pawl.SessionBegan{Session: "claude:three"}); !strings.Contains(w.Brief, "tried and failed: `Bash` `make later`, by `claude:one`: \"exit code 7") {
		t.Errorf("a failure that the hooks did not report is not told: %s", w.Brief)
	}
	if x.Did != 2 || x.Doing != pawl.SessionIsEnded || len(x.Failed) != 1 || !strings.HasPrefix(x.Failed[0].Error, "exit code 4") {
		t.Errorf("%+v", x)
	}
}
