package pawl

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Decision is what a person chose, and why.
type Decision struct {
	Question string    `json:"question,omitempty"`
	Options  []string  `json:"options,omitempty"`
	Choice   string    `json:"choice"`
	Why      string    `json:"why,omitempty"`
	By       string    `json:"by,omitempty"`
	Step     StepID    `json:"step,omitempty"`
	Time     time.Time `json:"time,omitzero"`
}

// Blocker is a reason why work cannot go on.
type Blocker struct {
	ID      int       `json:"id,omitempty"` // given by the fold, from 1
	Text    string    `json:"text"`
	Step    StepID    `json:"step,omitempty"`
	Needs   string    `json:"needs,omitempty"` // what would clear it
	Opened  time.Time `json:"opened,omitzero"`
	Cleared time.Time `json:"cleared,omitzero"`
	How     string    `json:"how,omitempty"`
}

// Memory is one thing learned.
type Memory struct {
	Kind MemoryKind `json:"kind"`
	Text string     `json:"text"`
}

// MemoryKind is the heading under which something learned stands in MEMORY.md.
type MemoryKind string

// The kinds of memory.
const (
	Pattern      MemoryKind = "pattern"
	Gotcha       MemoryKind = "gotcha"
	Preference   MemoryKind = "preference"
	DecisionMem  MemoryKind = "decision"
	RejectedIdea MemoryKind = "rejected"
	Fragile      MemoryKind = "fragile"
)

// Checkpoint is the durable statement that at this event this is done and this is how to go on.
type Checkpoint struct {
	ID       CheckpointID   `json:"id"`
	Kind     CheckpointKind `json:"kind"`
	Step     StepID         `json:"step,omitempty"`
	Item     ItemID         `json:"item,omitempty"`
	Why      string         `json:"why,omitempty"`
	Live     []AttemptRef   `json:"live,omitempty"` // attempts that ran while it was taken
	Snapshot *Snapshot      `json:"snapshot,omitempty"`
	Seq      Seq            `json:"seq,omitempty"` // given by the fold
	Time     time.Time      `json:"time,omitzero"` // given by the fold
	Source   *Source        `json:"source,omitempty"`
}

// Snapshot is the content of the workspace at a checkpoint, as the store keeps it, or why there is none.
type Snapshot struct {
	Record  string `json:"record,omitempty"` // SHA-256 of its commit record; empty: there is none
	Tree    string `json:"tree,omitempty"`   // SHA-256 of the root folder's tree
	Files   int    `json:"files,omitempty"`
	Bytes   int64  `json:"bytes,omitempty"`
	Added   int64  `json:"added_bytes,omitempty"` // what it added to the store, compressed
	LeftOut int    `json:"left_out,omitempty"`    // names that are not in it
	None    string `json:"none,omitempty"`        // why there is none
}

// Unsaved says why the checkpoint has no snapshot of the files; empty where it has one.
func (c Checkpoint) Unsaved() string {
	if c.Snapshot == nil {
		return ""
	}
	return c.Snapshot.None
}

// CheckpointKind is what a checkpoint was taken for.
type CheckpointKind string

// The kinds of checkpoints.
const (
	CheckpointStep             CheckpointKind = "step"
	CheckpointItem             CheckpointKind = "item"
	CheckpointTool             CheckpointKind = "tool"
	CheckpointGate             CheckpointKind = "gate"
	CheckpointManual           CheckpointKind = "manual"
	CheckpointHeartbeat        CheckpointKind = "heartbeat"
	CheckpointBeforeCompaction CheckpointKind = "before_compaction"
	CheckpointBeforeRestore    CheckpointKind = "before_restore"
	CheckpointEmergency        CheckpointKind = "emergency"
)

// Validate says what is wrong with a memory: an unknown kind, an empty text.
func (m Memory) Validate() error {
	switch m.Kind {
	case Pattern, Gotcha, Preference, DecisionMem, RejectedIdea, Fragile:
	default:
		return fmt.Errorf("%q is no kind of memory: use pattern, gotcha, preference, decision, rejected or fragile", m.Kind)
	}
	if strings.TrimSpace(m.Text) == "" {
		return errors.New("there is nothing to learn: the text is empty")
	}
	return nil
}
