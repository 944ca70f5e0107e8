package pawl

import "time"

// Checkpoint records durably, as of one event, what is done and how to continue.
type Checkpoint struct {
	ID       CheckpointID   `json:"id"`
	Kind     CheckpointKind `json:"kind"`
	Step     StepID         `json:"step,omitempty"`
	Item     ItemID         `json:"item,omitempty"`
	Why      string         `json:"why,omitempty"`
	Live     []AttemptRef   `json:"live,omitempty"` // attempts that were running when it was taken
	Snapshot *Snapshot      `json:"snapshot,omitempty"`
	Seq      Seq            `json:"seq,omitempty"` // assigned by the fold
	Time     time.Time      `json:"time,omitzero"` // assigned by the fold
	Source   *Source        `json:"source,omitempty"`
	Restores *RestoreIntent `json:"restores,omitempty"` // the restore that it was taken for; empty in the state
}

// RestoreIntent is durable before a restore changes the first file. It is part of the checkpoint of the files before the
// restore, so that neither exists without the other. FilesRestored ends it.
type RestoreIntent struct {
	Checkpoint CheckpointID `json:"checkpoint"`      // the one whose files are restored
	From       RunID        `json:"from"`            // its run
	Paths      []string     `json:"paths,omitempty"` // restored paths, with everything below them; empty: all
	Undo       bool         `json:"undo,omitempty"`  // it undoes an earlier restore
}

// RestoreState is an unfinished restore. Each file is as before the restore, or as in the restored checkpoint.
type RestoreState struct {
	RestoreIntent
	Before CheckpointID `json:"before"` // the checkpoint of the files before the restore
}

// Unsaved returns why the checkpoint has no snapshot; empty if it has one.
func (c Checkpoint) Unsaved() string {
	if c.Snapshot == nil {
		return ""
	}
	return c.Snapshot.None
}

// Snapshot identifies the snapshot of a checkpoint, or says why there is none.
type Snapshot struct {
	Record  string `json:"record,omitempty"` // SHA-256 of the commit record; empty: no snapshot
	Tree    string `json:"tree,omitempty"`   // SHA-256 of the root folder's tree
	Files   int    `json:"files,omitempty"`
	Bytes   int64  `json:"bytes,omitempty"`
	Added   int64  `json:"added_bytes,omitempty"` // compressed bytes added to the store
	LeftOut int    `json:"left_out,omitempty"`    // number of paths that are not in it
	None    string `json:"none,omitempty"`        // why there is no snapshot
}

// CheckpointKind is the reason for a checkpoint.
type CheckpointKind string

// Kinds of checkpoints.
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

// Interim reports whether checkpoints of the kind show unfinished work: pawl took them at a moment of its own choice. They
// are never the last good checkpoint, and never hide it.
func (k CheckpointKind) Interim() bool {
	return k == CheckpointEmergency || k == CheckpointHeartbeat
}

// CheckpointSaved records a checkpoint.
type CheckpointSaved struct{ Checkpoint }

func (CheckpointSaved) Event() EventType { return "checkpoint.saved" }

func (p CheckpointSaved) fold(s *State, e Event) error {
	if p.Restores != nil && (s.Forked == nil || e.Seq > s.Forked.Seq) { // a copied event is about the files of another run
		s.Restore = &RestoreState{RestoreIntent: *p.Restores, Before: p.ID}
	}
	s.addCheckpoint(e, p.Checkpoint)
	return nil
}

func (p CheckpointSaved) source() *Source { return p.Source }

// addCheckpoint records a checkpoint. An interim one never replaces the last good one.
func (s *State) addCheckpoint(e Event, c Checkpoint) {
	if s.Saved == nil {
		s.Saved = map[CheckpointKind]int{}
	}
	c.Seq, c.Time, c.Restores = e.Seq, e.Time, nil
	s.Saved[c.Kind]++
	s.LastSave = &c
	if !c.Kind.Interim() {
		s.LastGood = &c
	}
}

// WhyLost is the reason in CheckpointsPruned for snapshots that are missing although pawl did not delete them.
const WhyLost = "lost"

// CheckpointsPruned records that the snapshots of checkpoints were removed.
type CheckpointsPruned struct {
	Checkpoints []CheckpointID `json:"checkpoints"`
	Why         string         `json:"why"`
}

func (CheckpointsPruned) Event() EventType { return "checkpoint.pruned" }

func (p CheckpointsPruned) fold(s *State, _ Event) error {
	s.Pruned += len(p.Checkpoints)
	return nil
}

// FilesRestored records that files were restored from a checkpoint.
type FilesRestored struct {
	Checkpoint CheckpointID `json:"checkpoint"`
	From       RunID        `json:"from"`            // run of the checkpoint
	Before     CheckpointID `json:"before"`          // the safety checkpoint taken before the restore
	Paths      []string     `json:"paths,omitempty"` // restored paths, with everything below them; empty: all
	Changed    int          `json:"changed"`         // number of paths
}

func (FilesRestored) Event() EventType { return "files.restored" }

// fold ends the restore. An older pawl wrote no intent; its restore has replaced what an earlier one left.
func (FilesRestored) fold(s *State, _ Event) error {
	s.Restore = nil
	return nil
}
