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

// UndoRef names one try to undo finished work. Attempt counts the tries to undo the same step or item, from 1.
type UndoRef struct {
	AttemptRef
	Of Seq `json:"of"` // the event that finished the work
}

// errNoRollback rejects an undo event outside of a rollback.
var errNoRollback = errors.New("no rollback was started")

// RollbackStarted says that the run goes back to a checkpoint: what was finished after it is undone, the newest first.
// Until RollbackEnded nothing else is started.
type RollbackStarted struct {
	Checkpoint CheckpointID `json:"checkpoint"`
	Undos      int          `json:"undos"` // how many pieces of work have something to undo
}

func (RollbackStarted) Event() EventType { return "rollback.started" }

func (p RollbackStarted) fold(s *State, _ Event) error {
	switch {
	case s.Rollback != nil:
		return fmt.Errorf("the rollback to %s has not ended", s.Rollback.Checkpoint)
	case len(s.Live()) > 0:
		return errors.New("attempts are live")
	}
	s.Rollback = &RollbackState{RollbackStarted: p}
	return nil
}

// UndoStarted is an intent: durable before the undo command is started.
type UndoStarted struct{ UndoRef }

func (UndoStarted) Event() EventType { return "undo.started" }

func (p UndoStarted) fold(s *State, _ Event) error { return s.setUndoing(&p.UndoRef) }

// UndoDone says that an undo command ended well: the work counts as not done any more.
type UndoDone struct {
	UndoRef
	Stats *AttemptStats `json:"stats,omitempty"`
}

func (UndoDone) Event() EventType { return "undo.done" }

func (p UndoDone) fold(s *State, e Event) error { return s.undone(e, p.UndoRef, "it was undone") }

// UndoFailed ends a try to undo that did not end well, or of which nobody knows how it ended.
type UndoFailed struct {
	UndoRef
	Outcome Outcome       `json:"outcome"` // failed, lost or not_started
	Reason  EndReason     `json:"reason,omitempty"`
	Exit    *int          `json:"exit,omitempty"`
	Why     string        `json:"why,omitempty"` // one line of text
	Stats   *AttemptStats `json:"stats,omitempty"`
}

func (UndoFailed) Event() EventType { return "undo.failed" }

func (UndoFailed) fold(s *State, _ Event) error { return s.setUndoing(nil) }

// UndoSkipped says that a person answers for work being undone, or for its not having to be.
type UndoSkipped struct {
	UndoRef
	Why string `json:"why,omitempty"`
}

func (UndoSkipped) Event() EventType { return "undo.skipped" }

func (p UndoSkipped) fold(s *State, e Event) error {
	return s.undone(e, p.UndoRef, "a person answers for its being undone")
}

// setUndoing records the undo attempt that is live, nil for none.
func (s *State) setUndoing(ref *UndoRef) error {
	if s.Rollback == nil {
		return errNoRollback
	}
	s.Rollback.Undoing = ref
	return nil
}

// undone makes the step or item pending again whose finished work was undone. Work that was done again since then stays done.
func (s *State) undone(e Event, p UndoRef, why string) error {
	if err := s.setUndoing(nil); err != nil {
		return err
	}
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
	return again.fold(s, e)
}

// RollbackEnded says that the run stands where it stood at the checkpoint, or that the rollback was given up.
type RollbackEnded struct {
	Checkpoint CheckpointID `json:"checkpoint"`
	Stopped    string       `json:"stopped,omitempty"` // why it was given up: what was undone so far stays so
}

func (RollbackEnded) Event() EventType { return "rollback.ended" }

// fold also settles the rollback's gates: no later event acts on their answers.
func (RollbackEnded) fold(s *State, _ Event) error {
	if s.Rollback == nil {
		return errNoRollback
	}
	s.Rollback = nil
	for i := range s.Gates {
		if g := &s.Gates[i]; g.Purpose == ForUndo && !g.Open() {
			g.Settled = true
		}
	}
	return nil
}
