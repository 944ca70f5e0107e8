package pawl

import (
	"errors"
	"fmt"
)

// RollbackState is an unfinished rollback.
type RollbackState struct {
	RollbackStarted
	Undoing *UndoRef `json:"undoing,omitempty"` // the undo that is running or in doubt
}

// UndoRef identifies one attempt to undo finished work. Attempt counts the attempts for the same step or item, starting at 1.
type UndoRef struct {
	AttemptRef
	Of Seq `json:"of"` // the event that finished the work
}

// errNoRollback rejects an undo event outside of a rollback.
var errNoRollback = errors.New("no rollback was started")

// RollbackStarted records that the run returns to a checkpoint: work finished after it is undone, newest first. Nothing
// else starts before RollbackEnded.
type RollbackStarted struct {
	Checkpoint CheckpointID `json:"checkpoint"`
	Undos      int          `json:"undos"` // number of steps and items with an undo command
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

// UndoStarted is an intent: it is durable before the undo command starts.
type UndoStarted struct {
	UndoRef
	Seal string `json:"seal,omitempty"` // public key that the supervisor's exit record is signed with; empty: an older pawl started it
}

func (UndoStarted) Event() EventType { return "undo.started" }

func (p UndoStarted) fold(s *State, _ Event) error { return s.setUndoing(&p.UndoRef) }

// UndoDone records that an undo command succeeded: the work no longer counts as done.
type UndoDone struct {
	UndoRef
	Stats *AttemptStats `json:"stats,omitempty"`
}

func (UndoDone) Event() EventType { return "undo.done" }

func (p UndoDone) fold(s *State, e Event) error { return s.undone(e, p.UndoRef, "it was undone") }

// UndoFailed records that an attempt to undo failed, or that its result is unknown.
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

// UndoSkipped records that a person takes responsibility for work being undone, or for not undoing it.
type UndoSkipped struct {
	UndoRef
	Why string `json:"why,omitempty"`
}

func (UndoSkipped) Event() EventType { return "undo.skipped" }

func (p UndoSkipped) fold(s *State, e Event) error {
	return s.undone(e, p.UndoRef, "marked as undone by a person")
}

// setUndoing records the live undo attempt; nil for none.
func (s *State) setUndoing(ref *UndoRef) error {
	if s.Rollback == nil {
		return errNoRollback
	}
	s.Rollback.Undoing = ref
	return nil
}

// undone makes a step or item pending again after its work was undone. Work that was done again since stays done.
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

// RollbackEnded records that the run is back at the checkpoint, or that the rollback was stopped.
type RollbackEnded struct {
	Checkpoint CheckpointID `json:"checkpoint"`
	Stopped    string       `json:"stopped,omitempty"` // why it was stopped; what was undone stays undone
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
