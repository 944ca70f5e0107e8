package pawl

import "time"

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

// Unsaved says why the checkpoint has no snapshot of the files; empty where it has one.
func (c Checkpoint) Unsaved() string {
	if c.Snapshot == nil {
		return ""
	}
	return c.Snapshot.None
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

// CheckpointSaved is a durable statement: at this event, with this snapshot, this is done and this is how to go on.
type CheckpointSaved struct{ Checkpoint }

func (CheckpointSaved) Event() EventType { return "checkpoint.saved" }

func (p CheckpointSaved) fold(s *State, e Event) error {
	s.addCheckpoint(e, p.Checkpoint)
	return nil
}

func (p CheckpointSaved) source() *Source { return p.Source }

// addCheckpoint records a checkpoint. An emergency checkpoint never replaces the last good one.
func (s *State) addCheckpoint(e Event, c Checkpoint) {
	if s.Saved == nil {
		s.Saved = map[CheckpointKind]int{}
	}
	c.Seq, c.Time = e.Seq, e.Time
	s.Saved[c.Kind]++
	s.LastSave = &c
	if c.Kind != CheckpointEmergency {
		s.LastGood = &c
	}
}

// CheckpointsPruned says that the snapshots of checkpoints were let go.
type CheckpointsPruned struct {
	Checkpoints []CheckpointID `json:"checkpoints"`
	Why         string         `json:"why"`
}

func (CheckpointsPruned) Event() EventType { return "checkpoint.pruned" }

func (p CheckpointsPruned) fold(s *State, _ Event) error {
	s.Pruned += len(p.Checkpoints)
	return nil
}

// FilesRestored says that files were brought back to what they were at a checkpoint.
type FilesRestored struct {
	Checkpoint CheckpointID `json:"checkpoint"`
	From       RunID        `json:"from"`            // the checkpoint's run
	Before     CheckpointID `json:"before"`          // what was there before
	Paths      []string     `json:"paths,omitempty"` // only these and what is below them
	Changed    int          `json:"changed"`         // paths
}

func (FilesRestored) Event() EventType { return "files.restored" }

// fold changes nothing: a restore changes files, not the run.
func (FilesRestored) fold(*State, Event) error { return nil }
