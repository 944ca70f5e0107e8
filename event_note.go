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

func (DecisionMade) Event() EventType    { return "decision.made" }
func (BlockerOpened) Event() EventType   { return "blocker.opened" }
func (BlockerCleared) Event() EventType  { return "blocker.cleared" }
func (MemoryLearned) Event() EventType   { return "memory.learned" }
func (CheckpointSaved) Event() EventType { return "checkpoint.saved" }
