package pawl

// DecisionMade is what a person chose, and why.
type DecisionMade struct {
	Decision
	Source *Source `json:"source,omitempty"`
}

// BlockerOpened says why work cannot go on.
type BlockerOpened struct {
	Blocker
	Source *Source `json:"source,omitempty"`
}

// BlockerCleared resolves a blocker.
type BlockerCleared struct {
	ID  int    `json:"id"`
	How string `json:"how,omitempty"`
}

// MemoryLearned says what was learned; the same bullet stands in MEMORY.md.
type MemoryLearned struct {
	Memory
	Source    *Source `json:"source,omitempty"`
	Unwritten string  `json:"unwritten,omitempty"` // why it is not in MEMORY.md
}

// CheckpointSaved is a durable statement: at this event, with this snapshot, this is done and this is how to go on.
type CheckpointSaved struct{ Checkpoint }

// CheckpointsPruned says that the snapshots of checkpoints were let go.
type CheckpointsPruned struct {
	Checkpoints []CheckpointID `json:"checkpoints"`
	Why         string         `json:"why"`
}

// FilesRestored says that files were brought back to what they were at a checkpoint.
type FilesRestored struct {
	Checkpoint CheckpointID `json:"checkpoint"`
	From       RunID        `json:"from"`            // the checkpoint's run
	Before     CheckpointID `json:"before"`          // what was there before
	Paths      []string     `json:"paths,omitempty"` // only these and what is below them
	Changed    int          `json:"changed"`         // paths
}

func (DecisionMade) Event() EventType      { return "decision.made" }
func (BlockerOpened) Event() EventType     { return "blocker.opened" }
func (BlockerCleared) Event() EventType    { return "blocker.cleared" }
func (MemoryLearned) Event() EventType     { return "memory.learned" }
func (CheckpointSaved) Event() EventType   { return "checkpoint.saved" }
func (CheckpointsPruned) Event() EventType { return "checkpoint.pruned" }
func (FilesRestored) Event() EventType     { return "files.restored" }
