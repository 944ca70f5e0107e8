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
	applyAll(t, s, op("codex:2", "d", pawl.OperationCommand), outcome("codex:2", "d"))
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
	if got := open(s); !slices.Equal(got, []pawl.OperationID{"gemini:1#event-2", "gemini:1#event-3"}) {
		t.Errorf("open: %q, want the oldest of the two ended", got)
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

// TestSettledOperations: reported tool calls are settled by the end of that session's turn, and by no other session.
func TestSettledOperations(t *testing.T) {
	t.Parallel()
	told := []pawl.Payload{
		op("a:1", "x", pawl.OperationCommand), pawl.SessionBegan{Session: "b:2"},
		pawl.OperationJudged{Operation: "a:1#x", Verdict: pawl.OperationPartly, Told: "b:2"},
	}
	idle := func(id pawl.SessionID) pawl.Payload { return pawl.SessionTurned{Session: id, Doing: pawl.SessionIdle} }
	if s := fold(t, append(told, idle("c:3"), pawl.SessionEnded{Session: "b:2"})...); len(s.Operations) != 1 {
		t.Error("it was settled although who was told has done nothing")
	}
	interrupted := pawl.SessionTurned{Session: "b:2", Doing: pawl.SessionIdle, Why: "a person has interrupted it"}
	if s := fold(t, append(told, interrupted)...); len(s.Operations) != 1 {
		t.Error("it was settled although a person has interrupted who was told")
	}
	if s := fold(t, append(told, idle("b:2"))...); len(s.Operations) != 0 {
		t.Errorf("still in doubt: %v", open(s))
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
	s := fold(t, pawl.SessionBegan{Session: "a:doubt"}, op("a:doubt", "x", pawl.OperationCommand), pawl.SessionBegan{Session: "a:old"})
	name := func(i int) pawl.SessionID { return pawl.SessionID(fmt.Sprint("a:", i)) }
	for i := range 3 * pawl.MaxSessions {
		applyAll(t, s, pawl.SessionBegan{Session: name(i)}, pawl.SessionBegan{Session: name(0)})
	}
	sameState(t, s, throughJSON(t, s))
	if len(s.Sessions) != pawl.MaxSessions || s.SessionCount() != 3*pawl.MaxSessions+2 {
		t.Errorf("%d sessions of %d", len(s.Sessions), s.SessionCount())
	}
	for id, want := range map[pawl.SessionID]bool{"a:doubt": true, "a:old": false, name(0): true, name(1): false, name(3*pawl.MaxSessions - 1): true} {
		if (s.Sessions[id] != nil) != want {
			t.Errorf("session %s is kept: %v", id, !want)
		}
	}
}
