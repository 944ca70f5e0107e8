package pawl_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pawl"
)

// op begins an operation.
func op(session pawl.SessionID, call string, kind pawl.OperationKind, paths ...string) pawl.OperationBegun {
	return pawl.OperationBegun{Operation: pawl.Operation{
		ID: pawl.OperationIDOf(session, call), Session: session, Kind: kind, Digest: "digest " + call, Summary: call, Paths: paths,
	}}
}

func outcome(session pawl.SessionID, call string) pawl.OperationEnded {
	return pawl.OperationEnded{Operation: pawl.OperationIDOf(session, call), Session: session}
}

func open(s *pawl.State) []pawl.OperationID { return slices.Sorted(maps.Keys(s.Operations)) }

func alive(*pawl.SessionState) bool { return false }
func dead(*pawl.SessionState) bool  { return true }

func TestOperations(t *testing.T) {
	t.Parallel()
	s := fold(t,
		pawl.SessionBegan{Session: "claude:1"}, op("claude:1", "a", pawl.OperationCommand), op("claude:1", "b", pawl.OperationFiles, "x"),
		outcome("claude:1", "b"), op("claude:1", "c", pawl.OperationReads), outcome("claude:1", "c"),
	)
	if got := open(s); !slices.Equal(got, []pawl.OperationID{"claude:1#a"}) {
		t.Fatalf("open: %q", got)
	}
	a := s.Operations["claude:1#a"]
	if !slices.Equal(a.Others, []string{"x"}) || a.Overlaps {
		t.Errorf("%+v: want what b has changed, and no more", a)
	}
	if len(s.InDoubt(alive)) != 0 || len(s.InDoubt(dead)) != 1 {
		t.Error("an operation is in doubt when its agent is gone, and not while it lives")
	}
	named := op("codex:2", "d", pawl.OperationCommand)
	named.Named = []string{"y"}
	applyAll(t, s, named, outcome("codex:2", "d"))
	if !slices.Equal(a.Others, []string{"x", "y"}) {
		t.Errorf("others %q: want also what a command names that may change more", a.Others)
	}
	if !a.Until.IsZero() || !a.Overlaps {
		t.Errorf("%+v: want that another session's command ran beside it", a)
	}
	applyAll(t, s, pawl.OperationJudged{Operation: a.ID, Verdict: pawl.OperationPartly})
	if applyAll(t, s, op("claude:1", "e", pawl.OperationCommand)); a.Until.IsZero() {
		t.Errorf("%+v: want when others went to work after it was judged", a)
	}
	if x := s.Sessions["claude:1"]; x.Did != 2 || len(x.Recent) != 1 || x.Doing != pawl.SessionWorks {
		t.Errorf("%+v", x)
	}
}

// TestLeftOperations: a tool call of a live agent is in doubt once the agent has continued without its outcome.
func TestLeftOperations(t *testing.T) {
	t.Parallel()
	for _, goesOn := range []pawl.Payload{
		pawl.SessionPrompted{Session: "a:1"}, pawl.SessionTurned{Session: "a:1", Doing: pawl.SessionIdle},
		pawl.SessionTurned{Session: "a:1", Doing: pawl.SessionFailed}, pawl.SessionEnded{Session: "a:1"},
		pawl.SessionBegan{Session: "a:1", Source: "resume"},
	} {
		s := fold(t, op("a:1", "x", pawl.OperationCommand), op("a:1/sub", "y", pawl.OperationCommand), goesOn)
		doubts := s.InDoubt(alive)
		if len(doubts) != 1 || doubts[0].ID != "a:1#x" {
			t.Errorf("after %T: %v", goesOn, doubts)
		}
	}
	for _, not := range []pawl.Payload{
		pawl.SessionBegan{Session: "a:1", Source: "compact"}, pawl.SessionCompacted{Session: "a:1"},
		pawl.SessionTurned{Session: "a:1", Doing: pawl.SessionAsks}, pawl.SessionPrompted{Session: "b:1"},
	} {
		if s := fold(t, op("a:1", "x", pawl.OperationCommand), not); len(s.InDoubt(alive)) != 0 {
			t.Errorf("after %T it is in doubt", not)
		}
	}
}

// TestUnnamedOperations: tool calls without ids are matched by their content.
func TestUnnamedOperations(t *testing.T) {
	t.Parallel()
	call := func(digest string) pawl.OperationBegun {
		return pawl.OperationBegun{Operation: pawl.Operation{Session: "gemini:1", Digest: digest}}
	}
	s := fold(t, call("x"), call("y"), call("x"), pawl.OperationEnded{Session: "gemini:1", Digest: "x"})
	if got := open(s); !slices.Equal(got, []pawl.OperationID{"gemini:1#event-1", "gemini:1#event-2"}) {
		t.Errorf("open: %q, want the newest of the two ended: the outcome of the older one was lost", got)
	}
	again := fold(t, call("x"), pawl.SessionBegan{Session: "gemini:1", Source: "resume"}, call("x"), pawl.OperationEnded{Session: "gemini:1", Digest: "x"})
	if got := open(again); !slices.Equal(got, []pawl.OperationID{"gemini:1#event-1"}) {
		t.Errorf("open: %q, want the one ended that was done anew", got)
	}
}

// TestStepsBesideOperations: what a step changed meanwhile is not the operation's, unless the session works for that step.
func TestStepsBesideOperations(t *testing.T) {
	t.Parallel()
	const x = "a:1#x"
	before := fold(t, op("a:1", "x", pawl.OperationCommand), started(ref("build", 1)))
	during := fold(t, started(ref("build", 1)), op("a:1", "x", pawl.OperationCommand))
	inside := fold(t, started(ref("build", 1)), pawl.SessionBegan{Session: "a:1", Step: "build"}, op("a:1", "x", pawl.OperationCommand))
	alone := fold(t, started(ref("build", 1)), pawl.StepDone{Step: "build", Attempt: 1, Token: ref("build", 1).Token}, op("a:1", "x", pawl.OperationCommand))
	for i, s := range []*pawl.State{before, during, inside, alone} {
		if got, want := s.Operations[x].Overlaps, i < 2; got != want {
			t.Errorf("story %d: overlaps: %v", i, got)
		}
	}
}

// idle ends a session's turn well.
func idle(id pawl.SessionID) pawl.Payload {
	return pawl.SessionTurned{Session: id, Doing: pawl.SessionIdle}
}

// TestSettledOperations: reported tool calls of which nothing is left to check are settled by the end of that session's turn, and by no
// other session.
func TestSettledOperations(t *testing.T) {
	t.Parallel()
	told := func(judged pawl.OperationJudged) []pawl.Payload {
		judged.Operation, judged.Told = "a:1#x", "b:2"
		return []pawl.Payload{op("a:1", "x", pawl.OperationCommand, "p"), pawl.SessionBegan{Session: "b:2"}, judged}
	}
	done := told(pawl.OperationJudged{Verdict: pawl.OperationDone})
	interrupted := pawl.SessionTurned{Session: "b:2", Doing: pawl.SessionIdle, Why: "a person has interrupted it"}
	for name, s := range map[string]*pawl.State{
		"the told session ends": fold(t, append(done, idle("c:3"), pawl.SessionEnded{Session: "b:2"})...), "a person interrupts it": fold(t, append(done, interrupted)...),
		"partly done": fold(t, append(told(pawl.OperationJudged{Verdict: pawl.OperationPartly}), idle("b:2"))...),
		"unknown":     fold(t, append(told(pawl.OperationJudged{Verdict: pawl.OperationUnknown}), idle("b:2"))...),
		"running":     fold(t, append(told(pawl.OperationJudged{Verdict: pawl.OperationDone, Runs: true}), idle("b:2"))...),
	} {
		if len(s.Operations) != 1 {
			t.Errorf("%s: it is settled", name)
		}
	}
	for _, judged := range []pawl.OperationJudged{
		{Verdict: pawl.OperationDone}, {Verdict: pawl.OperationNotDone}, {Verdict: pawl.OperationRefused}, {Verdict: pawl.OperationUnknown, Reads: true},
	} {
		if s := fold(t, append(told(judged), idle("b:2"))...); len(s.Operations) != 0 {
			t.Errorf("%+v: still in doubt: %v", judged, open(s))
		}
	}
}

// TestWorkedOn: a reported tool call is settled when a later one changes its paths or repeats it, and when somebody says so.
func TestWorkedOn(t *testing.T) {
	t.Parallel()
	told := func(runs bool) []pawl.Payload {
		return []pawl.Payload{
			pawl.SessionBegan{Session: "a:1"}, op("a:1", "x", pawl.OperationCommand, "p"), pawl.SessionBegan{Session: "b:2"},
			pawl.OperationJudged{Operation: "a:1#x", Verdict: pawl.OperationPartly, Told: "b:2", Paths: []string{"q"}, Runs: runs},
		}
	}
	call := func(name string, failed bool, paths ...string) []pawl.Payload {
		ended := outcome("b:2", name)
		ended.Failed = failed
		return []pawl.Payload{op("b:2", name, pawl.OperationFiles, paths...), ended}
	}
	for name, c := range map[string]struct {
		after []pawl.Payload
		left  int
	}{
		"another path": {call("y", false, "r"), 1}, "its path": {call("y", false, "p"), 0}, "a path that it may have changed": {call("y", false, "q"), 0},
		"a failed call": {call("y", true, "p"), 1}, "the same call": {call("x", false), 0}, "somebody": {[]pawl.Payload{pawl.OperationSettled{Operation: "a:1#x"}}, 0},
	} {
		s := fold(t, append(told(false), c.after...)...)
		if len(s.Operations) != c.left {
			t.Errorf("%s: in doubt %v", name, open(s))
		}
		if by, x := name != "somebody" && c.left == 0, s.Sessions["a:1"]; x != nil && x.Resolved != by {
			t.Errorf("%s: resolved by a later session: %v", name, x.Resolved)
		}
	}
	before := fold(t, append(call("y", false, "p"), told(false)...)...)
	s := fold(t, append(told(true), call("y", false, "p")...)...)
	if len(before.Operations) != 1 || len(s.Operations) != 1 {
		t.Error("settled by a call before it, or while it runs")
	}
	if applyAll(t, s, pawl.OperationJudged{Operation: "a:1#x", Verdict: pawl.OperationPartly}); len(s.Operations) != 0 {
		t.Errorf("its process has ended: in doubt %v", open(s))
	}
}

// TestOpenTurns: a prompt is open until its session ends the turn well, or a session that was told of it ends one.
func TestOpenTurns(t *testing.T) {
	t.Parallel()
	prompt := pawl.SessionPrompted{Session: "a:1", Text: "do it"}
	takes := []pawl.Payload{pawl.SessionBegan{Session: "b:2"}, pawl.SessionTold{Session: "b:2", Open: []pawl.SessionID{"a:1"}}}
	for name, c := range map[string]struct {
		events []pawl.Payload
		open   bool
		heir   pawl.SessionID
	}{
		"ended well":        {[]pawl.Payload{prompt, idle("a:1")}, false, ""},
		"failed":            {[]pawl.Payload{prompt, pawl.SessionTurned{Session: "a:1", Doing: pawl.SessionFailed}}, true, ""},
		"ended in its turn": {[]pawl.Payload{prompt, pawl.SessionEnded{Session: "a:1"}}, true, ""},
		"told":              {append([]pawl.Payload{prompt}, takes...), true, ""},
		"inherited":         {append([]pawl.Payload{prompt}, append(takes, idle("b:2"))...), true, "b:2"},
		"alive after all":   {append([]pawl.Payload{prompt}, append(takes, idle("b:2"), op("a:1", "x", pawl.OperationCommand))...), true, ""},
	} {
		if x := fold(t, c.events...).Sessions["a:1"]; x.Open != c.open || x.Heir != c.heir {
			t.Errorf("%s: open %v, heir %q", name, x.Open, x.Heir)
		}
	}
}

// TestReplacedSessions: a session ends when its agent's process begins another one, unless it is working.
func TestReplacedSessions(t *testing.T) {
	t.Parallel()
	began := func(id pawl.SessionID, pid int) pawl.Payload {
		return pawl.SessionBegan{Session: id, Process: &pawl.Process{PID: pid}}
	}
	for name, c := range map[string]struct {
		events []pawl.Payload
		ended  bool
	}{
		"same process": {[]pawl.Payload{began("a:1", 1), began("a:2", 1)}, true}, "another": {[]pawl.Payload{began("a:1", 1), began("a:2", 2)}, false},
		"at work":  {[]pawl.Payload{began("a:1", 1), op("a:1", "x", pawl.OperationCommand), began("a:2", 1)}, false},
		"subagent": {[]pawl.Payload{began("a:1", 1), began("a:1/sub", 1)}, false},
	} {
		if got := fold(t, c.events...).Sessions["a:1"].Doing == pawl.SessionIsEnded; got != c.ended {
			t.Errorf("%s: ended %v", name, got)
		}
	}
}

// TestAskedOperations: a request for permission names the tool call that it is for.
func TestAskedOperations(t *testing.T) {
	t.Parallel()
	for digest, want := range map[string]pawl.OperationID{"digest x": "a:1#x", "digest y": "a:1#y", "": "a:1#y"} {
		s := fold(t, op("a:1", "x", pawl.OperationCommand), op("a:1", "y", pawl.OperationCommand), pawl.SessionTurned{Session: "a:1", Doing: pawl.SessionAsks, Digest: digest})
		for id, o := range s.Operations {
			if o.Asked.IsZero() == (id == want) {
				t.Errorf("digest %q: %s was asked for at %s", digest, id, o.Asked)
			}
		}
	}
}

// TestSubagentsWork: what a subagent does counts as its parent's, and as done by the call that runs it.
func TestSubagentsWork(t *testing.T) {
	t.Parallel()
	failed := outcome("a:1/sub", "z")
	failed.Failed, failed.Error = true, "exit code 4"
	task := op("a:1", "task", pawl.OperationOther)
	task.Sub = true
	s := fold(t, task, op("a:1/sub", "y", pawl.OperationFiles, "p"), outcome("a:1/sub", "y"),
		op("a:1/sub", "z", pawl.OperationCommand), failed, pawl.SessionEnded{Session: "a:1/sub"})
	if o := s.Operations["a:1#task"]; !slices.Equal(o.Made, []string{"p"}) || len(o.Others) > 0 {
		t.Errorf("%+v", o)
	}
	if x := s.Sessions["a:1"]; x.Did != 2 || len(x.Recent) != 1 || len(x.Failed) != 1 || x.Failed[0].Error != "exit code 4" {
		t.Errorf("%+v", x)
	}
	if applyAll(t, s, op("a:1", "z", pawl.OperationCommand), outcome("a:1", "z")); len(s.Sessions["a:1"].Failed) != 0 {
		t.Error("a failure stays although the call has succeeded since")
	}
}

// TestUnheardSessions: of a session whose beginning nobody heard, an agent that is another process has left what is open.
func TestUnheardSessions(t *testing.T) {
	t.Parallel()
	heard := func(pid int) pawl.Payload {
		return pawl.SessionBegan{Session: "a:1", Process: &pawl.Process{PID: pid}}
	}
	for doubts, payloads := range [][]pawl.Payload{
		{op("a:1", "x", pawl.OperationCommand), heard(1), heard(1)},
		{heard(1), op("a:1", "x", pawl.OperationCommand), heard(2)},
	} {
		if got := fold(t, payloads...).InDoubt(alive); len(got) != doubts {
			t.Errorf("%v: in doubt %v", payloads, got)
		}
	}
}

func TestSubagents(t *testing.T) {
	t.Parallel()
	id := pawl.SessionIDOf("claude", "1", "sub")
	if id.Agent() != "claude" || id.Native() != "1" || id.Parent() != "claude:1" || id.Parent().Parent() != "" {
		t.Errorf("%s: %s %s %s", id, id.Agent(), id.Native(), id.Parent())
	}
	s := fold(t, pawl.SessionBegan{Session: "claude:1"}, pawl.SessionBegan{Session: id}, op(id, "x", pawl.OperationCommand), pawl.SessionEnded{Session: id})
	if len(s.Sessions) != 1 || len(s.InDoubt(alive)) != 1 {
		t.Errorf("%v, in doubt %v", s.Sessions, s.InDoubt(alive))
	}
}

func TestRejectedSessionEvents(t *testing.T) {
	t.Parallel()
	base := fold(t, op("a:1", "x", pawl.OperationCommand), pawl.OperationJudged{Operation: "a:1#x", Verdict: pawl.OperationDone})
	for _, p := range []pawl.Payload{
		pawl.SessionBegan{}, pawl.SessionPrompted{}, pawl.SessionTurned{Doing: pawl.SessionIdle}, pawl.SessionCompacted{}, pawl.SessionEnded{},
		pawl.OperationBegun{}, pawl.OperationEnded{}, pawl.OperationJudged{Operation: "a:1#y"},
	} {
		s := applyAll(t, base.Clone(), p)
		if s.RejectedCount != 1 {
			t.Errorf("%T fits", p)
		}
		if diff := changed(base, s); diff != "" {
			t.Errorf("%T changed\n%s", p, diff)
		}
	}
}

// TestManySessions: a state keeps the last active sessions and those with an operation in doubt, and counts the others.
func TestManySessions(t *testing.T) {
	t.Parallel()
	s := fold(t, pawl.SessionBegan{Session: "a:doubt"}, op("a:doubt", "x", pawl.OperationCommand), pawl.SessionPrompted{Session: "a:open", Text: "do it"}, pawl.SessionBegan{Session: "a:old"})
	name := func(i int) pawl.SessionID { return pawl.SessionID(fmt.Sprint("a:", i)) }
	for i := range 3 * pawl.MaxSessions {
		applyAll(t, s, pawl.SessionBegan{Session: name(i)}, pawl.SessionBegan{Session: name(0)})
	}
	sameState(t, s, throughJSON(t, s))
	if len(s.Sessions) != pawl.MaxSessions || s.SessionCount() != 3*pawl.MaxSessions+3 {
		t.Errorf("%d sessions of %d", len(s.Sessions), s.SessionCount())
	}
	for id, want := range map[pawl.SessionID]bool{"a:doubt": true, "a:open": true, "a:old": false, name(0): true, name(1): false, name(3*pawl.MaxSessions - 1): true} {
		if (s.Sessions[id] != nil) != want {
			t.Errorf("session %s is kept: %v", id, !want)
		}
	}
}
