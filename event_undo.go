package pawl

// RollbackStarted says that the run goes back to a checkpoint: what was finished after it is undone, the newest first.
// Until RollbackEnded nothing else is started.
type RollbackStarted struct {
	Checkpoint CheckpointID `json:"checkpoint"`
	Undos      int          `json:"undos"` // how many pieces of work have something to undo
}

// UndoRef names one try to undo finished work. Attempt counts the tries to undo the same step or item, from 1.
type UndoRef struct {
	AttemptRef
	Of Seq `json:"of"` // the event that finished the work
}

// UndoStarted is an intent: durable before the undo command is started.
type UndoStarted struct{ UndoRef }

// UndoDone says that an undo command ended well: the work counts as not done any more.
type UndoDone struct {
	UndoRef
	Stats *AttemptStats `json:"stats,omitempty"`
}

// UndoFailed ends a try to undo that did not end well, or of which nobody knows how it ended.
type UndoFailed struct {
	UndoRef
	Outcome Outcome       `json:"outcome"` // failed, lost or not_started
	Reason  EndReason     `json:"reason,omitempty"`
	Exit    *int          `json:"exit,omitempty"`
	Why     string        `json:"why,omitempty"` // one line for people
	Stats   *AttemptStats `json:"stats,omitempty"`
}

// UndoSkipped says that a person answers for work being undone, or for its not having to be.
type UndoSkipped struct {
	UndoRef
	Why string `json:"why,omitempty"`
}

// RollbackEnded says that the run stands where it stood at the checkpoint, or that the rollback was given up.
type RollbackEnded struct {
	Checkpoint CheckpointID `json:"checkpoint"`
	Stopped    string       `json:"stopped,omitempty"` // why it was given up: what was undone so far stays so
}

func (RollbackStarted) Event() EventType { return "rollback.started" }
func (UndoStarted) Event() EventType     { return "undo.started" }
func (UndoDone) Event() EventType        { return "undo.done" }
func (UndoFailed) Event() EventType      { return "undo.failed" }
func (UndoSkipped) Event() EventType     { return "undo.skipped" }
func (RollbackEnded) Event() EventType   { return "rollback.ended" }
