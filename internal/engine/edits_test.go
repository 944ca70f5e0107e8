package engine_test

import (
	"strings"
	"testing"

	"pawl"
	"pawl/internal/engine/enginetest"
)

// Of an edited plan only what changed runs again, and what depends on it where that gives something else.
func TestEditedPlanIsAdopted(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	plan := `name: demo
steps:
  - {id: one, run: echo one >> ledger.txt; echo first > one.txt, outputs: [one.txt]}
  - {id: two, run: echo two >> ledger.txt; cat one.txt}
  - {id: beside, run: echo beside >> ledger.txt, needs: [one]}
`
	p.Config.Parallel = 1
	p.Check(p.Do(plan))
	p.WantText("ledger.txt", "one\ntwo\nbeside\n")
	p.Write("plan.yaml", strings.ReplaceAll(plan, "first", "second")+"  - {id: more, needs: [two], run: echo more >> ledger.txt}\n")
	p.Check(p.GoOn())
	p.WantText("ledger.txt", "one\ntwo\nbeside\none\ntwo\nbeside\nmore\n")
	p.Write("plan.yaml", strings.ReplaceAll(p.Text("plan.yaml"), "echo second", "echo  second"))
	p.Check(p.GoOn())
	p.WantText("ledger.txt", "one\ntwo\nbeside\none\ntwo\nbeside\nmore\none\n")
	if s := p.State(); s.Plan.Revision != 3 || p.Text(".pawl/runs/"+string(p.Run)+"/plan.3.yaml") != p.Text("plan.yaml") {
		t.Errorf("revision %d", s.Plan.Revision)
	}
}

// A changed input has its step run again; a changed output is only said.
func TestFilesChangedFromOutside(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	p.Write("in.txt", "old")
	p.Check(p.Do(`name: demo
steps:
  - {id: one, inputs: [in.txt], run: echo one >> ledger.txt; cat in.txt > out.txt, outputs: [out.txt]}
  - {id: two, run: echo two >> ledger.txt}
`))
	p.Write("out.txt", "mine")
	p.Write("in.txt", "new")
	p.Check(p.GoOn())
	p.WantText("ledger.txt", "one\ntwo\none\ntwo\n")
	p.WantText("out.txt", "new")
	p.Write("out.txt", "mine")
	p.Write("plan.yaml", p.Text("plan.yaml")+"  - {id: three, run: \"true\"}\n")
	p.Check(p.GoOn())
	if c := enginetest.Payloads[pawl.OutputsChanged](p); len(c) != 1 || c[0].Step != "one" || c[0].Paths[0] != "out.txt" {
		t.Errorf("changed outputs %+v", c)
	}
	p.WantText("out.txt", "mine")
}

// A check that was edited is run again, for each item; what fails it is done again.
func TestEditedChecks(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	plan := `name: demo
steps:
  - {id: one, run: echo one >> ledger.txt, accept: {right: grep one ledger.txt}}
  - {id: each, parallel: 1, foreach: {items: [x, y]}, run: echo $PAWL_ITEM >> ledger.txt, accept: {right: grep $PAWL_ITEM ledger.txt}}
`
	p.Check(p.Do(plan))
	p.WantText("ledger.txt", "one\nx\ny\n")
	p.Write("plan.yaml", strings.ReplaceAll(plan, "right: grep", "right: grep -x"))
	p.Check(p.GoOn())
	p.WantText("ledger.txt", "one\nx\ny\n")
	if c := enginetest.Payloads[pawl.StepChecked](p); len(c) != 2 {
		t.Errorf("checked %+v", c)
	}
	p.Write("plan.yaml", strings.Replace(plan, "right: grep $PAWL_ITEM ledger.txt", "right: test $PAWL_ITEM = x || test $(grep -c y ledger.txt) -gt 1", 1))
	p.Check(p.GoOn())
	p.WantText("ledger.txt", "one\nx\ny\ny\n")
}

// A failed step whose definition changed reruns.
func TestFailedStepIsEdited(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	plan := "name: demo\nsteps:\n  - {id: a, run: \"false\"}\n"
	p.WantKind(p.Do(plan), pawl.KindRunFailed)
	p.Write("plan.yaml", strings.Replace(plan, "false", "true", 1))
	p.Check(p.GoOn())
	p.WantStatus(pawl.Done, "a")
}

// An attempt at what the plan no longer says is ended, and the step runs as it is now; one that must not be repeated runs on.
func TestPlanEditedWhileAnAttemptRuns(t *testing.T) {
	t.Parallel()
	t.Run("may be repeated", func(t *testing.T) {
		t.Parallel()
		p := enginetest.New(t)
		plan := "name: demo\nsteps: [{id: a, run: '" + held + "'}]\n"
		killed(p, plan)
		p.Write("plan.yaml", strings.Replace(plan, "echo begun", "echo new", 1))
		p.Write("go", "")
		p.Check(p.GoOn())
		if text := p.Text("ledger.txt"); !strings.HasSuffix(text, "new\nended\n") {
			t.Errorf("ledger %q", text)
		}
		if ends := enginetest.Payloads[pawl.AttemptEnded](p); len(ends) != 1 || ends[0].Reason != pawl.ReasonOutdated {
			t.Errorf("ends %+v", ends)
		}
	})
	t.Run("must not be repeated", func(t *testing.T) {
		t.Parallel()
		p := enginetest.New(t)
		plan := "name: demo\nsteps: [{id: a, idempotent: false, run: '" + held + "'}]\n"
		killed(p, plan)
		p.Write("plan.yaml", strings.Replace(plan, "echo begun", "echo new", 1))
		e := p.Resume()
		p.UntilEvent("engine.started", 2)
		p.Write("go", "")
		p.Check(e.Wait())
		p.WantText("ledger.txt", "begun\nended\n")
		if len(e.Notes) != 1 || e.Notes[0] != "a keeps running with its old definition: it is not safe to rerun" {
			t.Errorf("notes %q", e.Notes)
		}
	})
	t.Run("was a service", func(t *testing.T) { // it would never end
		t.Parallel()
		p := enginetest.New(t)
		p.WantKind(p.Do("name: demo\nsteps:\n  - {id: a, run: exec sleep 1000, service: {}}\n  - {id: look, gate: {type: human_verify, ask: Good?}}\n"), pawl.KindAtGate)
		p.Write("plan.yaml", "name: demo\nsteps: [{id: a, run: echo a >> other.txt, idempotent: false}]\n")
		p.Check(p.GoOn())
		p.WantText("other.txt", "a\n")
	})
	t.Run("removed", func(t *testing.T) {
		t.Parallel()
		p := enginetest.New(t)
		killed(p, "name: demo\nsteps: [{id: a, run: '"+held+"'}]\n")
		p.Write("plan.yaml", "name: demo\nsteps: [{id: b, run: echo b >> other.txt}]\n")
		p.Check(p.GoOn())
		p.WantText("other.txt", "b\n")
		p.WantText("ledger.txt", "begun\n")
	})
}

// A lost copy of the plan is restored from the user's file if both have the same hash.
func TestLostPlanIsMended(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	p.Create("name: demo\nsteps: [{id: a, run: \"true\"}]\n")
	p.Write(".pawl/runs/"+string(p.Run)+"/plan.yaml", "garbage")
	p.Check(p.GoOn())
	p.WantText(".pawl/runs/"+string(p.Run)+"/plan.yaml", p.Text("plan.yaml"))
}
