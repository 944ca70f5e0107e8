package history

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/project"
	"pawl/internal/runs"
	"pawl/internal/snapshot"
)

// Saver saves a run's checkpoints. An error never stops the run: the checkpoint then says why it has no snapshot.
type Saver struct {
	project *project.Project
	run     pawl.RunID
	Store   *snapshot.Store // nil if there is no snapshot store; then why has the reason
	why     string
}

func OpenSaver(ctx context.Context, p *project.Project, run pawl.RunID, cfg config.Snapshots) *Saver {
	k := &Saver{project: p, run: run}
	if cfg.Off {
		k.why = "disabled in .pawl/config.yaml"
		return k
	}
	var err error
	if k.Store, err = runs.OpenSnapshots(ctx, p, cfg); err != nil {
		k.why = runs.ClipText(err.Error())
	}
	return k
}

func (k *Saver) Close() error {
	if k.Store == nil {
		return nil
	}
	return k.Store.Close()
}

// Save takes a snapshot and returns its checkpoint, which the caller must journal.
func (k *Saver) Save(ctx context.Context, kind pawl.CheckpointKind, ref pawl.AttemptRef, why string, at Position) PendingCheckpoint {
	c := pawl.Checkpoint{
		ID: runs.NewCheckpointID(), Kind: kind, Step: ref.Step, Item: ref.Item, Why: runs.ClipText(why), Live: at.otherLive(kind, ref),
		Snapshot: &pawl.Snapshot{None: k.why},
	}
	if k.Store == nil {
		return PendingCheckpoint{Checkpoint: c}
	}
	record, err := k.Store.Take(ctx, snapshot.Stamp{
		Checkpoint: c.ID, Kind: kind, Run: k.run, Step: ref.Step, Item: ref.Item, Attempt: ref.Attempt, Token: ref.Token,
		Why: c.Why, Seq: at.Seq, Live: c.Live,
	})
	if err != nil {
		c.Snapshot.None = noSnapshotReason(err)
		return PendingCheckpoint{Checkpoint: c}
	}
	c.Snapshot = record.Snapshot()
	return PendingCheckpoint{Checkpoint: c, Note: DerivedNote(&record), QuotaErr: pruneOverQuota(ctx, k.project, k.Store)}
}

// PendingCheckpoint is a saved checkpoint that is not journaled yet.
type PendingCheckpoint struct {
	pawl.Checkpoint
	Note     string // for the user; "" for none
	QuotaErr error  // why the store could not be pruned to its quota
}

// DerivedNote says which derived folders a snapshot is the first to leave out; "" for none.
func DerivedNote(r *snapshot.Record) string {
	const shown = 5
	var names []string
	for _, d := range r.NewDerived[:min(len(r.NewDerived), shown)] {
		names = append(names, d.Path)
	}
	if len(names) == 0 {
		return ""
	}
	if more := len(r.NewDerived) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return "checkpoints leave out derived folders: " + strings.Join(names, ", ") + "; to store them, set snapshots: {derived: true} in .pawl/config.yaml"
}

// noSnapshotReason describes in a few words why there is no snapshot.
func noSnapshotReason(err error) string {
	if errors.Is(err, snapshot.ErrQuota) {
		return "quota"
	}
	return runs.ClipText(err.Error())
}

// Position is the run's position when a snapshot is taken.
type Position struct {
	Seq  pawl.Seq
	Live []pawl.AttemptRef
}

// otherLive returns the live attempts except the one whose end is checkpointed.
func (at Position) otherLive(kind pawl.CheckpointKind, ref pawl.AttemptRef) []pawl.AttemptRef {
	if kind != pawl.CheckpointStep && kind != pawl.CheckpointEmergency {
		return at.Live
	}
	return slices.DeleteFunc(slices.Clone(at.Live), func(l pawl.AttemptRef) bool { return l.Token == ref.Token })
}
