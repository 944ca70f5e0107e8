package pawl

import (
	"errors"
	"fmt"
)

// RollbackState is a rollback that has not ended.
type RollbackState struct {
	RollbackStarted
	Undoing *UndoRef `json:"undoing,omitempty"` // started and not ended: running, or in doubt
}

func (s *State) applyUndo(payload Payload) error {
	if p, starts := payload.(RollbackStarted); starts {
		return s.rollbackStarted(p)
	}
	if s.Rollback == nil {
		return errors.New("no rollback was started")
	}
	switch p := payload.(type) {
	case UndoStarted:
		s.Rollback.Undoing = &p.UndoRef
	case UndoFailed:
		s.Rollback.Undoing = nil
	case UndoDone:
		s.Rollback.Undoing = nil
		return s.undone(p.UndoRef, "it was undone")
	case UndoSkipped:
		s.Rollback.Undoing = nil
		return s.undone(p.UndoRef, "a person answers for its being undone")
	case RollbackEnded:
		s.rollbackEnded()
	}
	return nil
}

func (s *State) rollbackStarted(p RollbackStarted) error {
	switch {
	case s.Rollback != nil:
		return fmt.Errorf("the rollback to %s has not ended", s.Rollback.Checkpoint)
	case len(s.Live()) > 0:
		return errors.New("attempts are live")
	}
	s.Rollback = &RollbackState{RollbackStarted: p}
	return nil
}

// undone makes a step or item pending again whose finished work was undone. Work that was done again since stays.
func (s *State) undone(p UndoRef, why string) error {
	again := StepReopened{Step: p.Step, Why: why}
	switch st := s.Steps[p.Step]; {
	case st == nil:
		return fmt.Errorf("step %s was never started", p.Step)
	case p.Item == "" && st.Done != p.Of:
		return nil
	case p.Item != "" && (st.Items == nil || p.Index < 0 || p.Index >= st.Items.Total || st.Items.Done.At(p.Index) != p.Of):
		return nil
	case p.Item != "":
		again.Items = []int{p.Index}
	}
	return s.stepReopened(again)
}

// rollbackEnded settles the rollback's gates: nobody else acts upon their answers.
func (s *State) rollbackEnded() {
	s.Rollback = nil
	for i := range s.Gates {
		if g := &s.Gates[i]; g.Purpose == ForUndo && !g.Open() {
			g.Settled = true
		}
	}
}
