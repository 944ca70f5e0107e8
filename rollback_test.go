package pawl_test

import (
	"testing"

	"pawl"
)

// undoRef names a try to undo what an event finished.
func undoRef(r pawl.AttemptRef, of pawl.Seq) pawl.UndoRef { return pawl.UndoRef{AttemptRef: r, Of: of} }

// rolling is a run of which a step (event 2) and two items (events 5 and 7) are done, and that is being rolled back.
func rolling() []pawl.Payload {
	return []pawl.Payload{
		started(ref("a", 1)), stepDone(ref("a", 1)),
		listed("f", 0, 2), started(itemRef("f", 0, 1)), itemDone(itemRef("f", 0, 1)), started(itemRef("f", 1, 1)), itemDone(itemRef("f", 1, 1)),
		pawl.StepDone{Step: "f", Digest: "x"},
		pawl.RollbackStarted{Checkpoint: "c", Undos: 3},
	}
}

func TestUndoneStepsArePending(t *testing.T) {
	t.Parallel()
	s := fold(t, rolling()...)
	if s.Rollback == nil || s.Rollback.Checkpoint != "c" {
		t.Fatalf("rollback: %+v", s.Rollback)
	}
	item := undoRef(itemRef("f", 1, 1), 7)
	applyAll(t, s, pawl.UndoStarted{UndoRef: item})
	if s.Rollback.Undoing == nil || *s.Rollback.Undoing != item {
		t.Errorf("undoing: %+v", s.Rollback.Undoing)
	}
	applyAll(t, s, pawl.UndoDone{UndoRef: item})
	if f := s.Steps["f"]; f.Status != pawl.Pending || f.Items.Count != 1 || f.Items.Done.At(0) == 0 || f.Items.Done.At(1) != 0 || s.Rollback.Undoing != nil {
		t.Errorf("one item was undone: %+v", f)
	}
	applyAll(t, s, pawl.UndoSkipped{UndoRef: undoRef(ref("a", 1), 2)}, pawl.RollbackEnded{Checkpoint: "c"})
	if s.Steps["a"].Status != pawl.Pending || s.Rollback != nil || s.RejectedCount > 0 {
		t.Errorf("step %+v, rollback %+v, misfits %+v", s.Steps["a"], s.Rollback, s.RejectedEvents)
	}
	applyAll(t, s, started(ref("a", 2)), stepDone(ref("a", 2)))
	if s.Steps["a"].Status != pawl.Done || s.RejectedCount > 0 {
		t.Errorf("done again: %+v, misfits %+v", s.Steps["a"], s.RejectedEvents)
	}
}

// What was done again after the work that is undone stays done.
func TestUndoOfOlderWork(t *testing.T) {
	t.Parallel()
	s := fold(t, started(ref("a", 1)), stepDone(ref("a", 1)), pawl.StepReopened{Step: "a"}, started(ref("a", 2)), stepDone(ref("a", 2)),
		pawl.RollbackStarted{}, pawl.UndoStarted{UndoRef: undoRef(ref("a", 1), 2)}, pawl.UndoDone{UndoRef: undoRef(ref("a", 1), 2)})
	if s.Steps["a"].Status != pawl.Done {
		t.Errorf("%+v", s.Steps["a"])
	}
	applyAll(t, s, pawl.UndoDone{UndoRef: undoRef(ref("a", 2), 5)})
	if s.Steps["a"].Status != pawl.Pending {
		t.Errorf("%+v", s.Steps["a"])
	}
}

func TestRollbackMisfits(t *testing.T) {
	t.Parallel()
	for name, events := range map[string][]pawl.Payload{
		"no rollback":     {pawl.UndoStarted{}},
		"no end":          {pawl.RollbackEnded{}},
		"two at a time":   {pawl.RollbackStarted{}, pawl.RollbackStarted{}},
		"a live attempt":  {started(ref("a", 1)), pawl.RollbackStarted{}},
		"never started":   {pawl.RollbackStarted{}, pawl.UndoDone{UndoRef: undoRef(ref("a", 1), 1)}},
		"ended, an undo":  {pawl.RollbackStarted{}, pawl.RollbackEnded{}, pawl.UndoDone{}},
		"failed, no more": {pawl.UndoFailed{}},
	} {
		if s := applyAll(t, pawl.NewState(), events...); s.RejectedCount != 1 {
			t.Errorf("%s: misfits %+v", name, s.RejectedEvents)
		}
	}
	// An item of a list that was made anew is another one.
	s := fold(t, append(rolling(), pawl.StepReopened{Step: "f"}, listed("f", 0, 1), pawl.UndoDone{UndoRef: undoRef(itemRef("f", 1, 1), 7)})...)
	if s.Steps["f"].Items.Total != 1 {
		t.Errorf("%+v", s.Steps["f"].Items)
	}
}

func TestRollbackSettlesItsGates(t *testing.T) {
	t.Parallel()
	s := fold(t, append(rolling(),
		pawl.GateOpened{Gate: pawl.Gate{ID: "g", Step: "a", Type: pawl.DecisionFor, Purpose: pawl.ForUndo}},
		pawl.GateAnswered{Gate: "g", Answer: pawl.Chosen, Option: "stop"}, pawl.RollbackEnded{Stopped: "stop"})...)
	if !s.Gates[0].Settled || s.Steps["a"].Status != pawl.Done {
		t.Errorf("gate %+v, step %+v", s.Gates[0], s.Steps["a"])
	}
}
