package history

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/oneline"
	"pawl/internal/outputs"
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

	mu      sync.Mutex // guards what follows
	ahead   *snapshot.Ahead
	aheadAt Position
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

// Watch has a watch tell the following checkpoints what has changed. The caller lives for a while.
func (k *Saver) Watch() {
	if k.Store != nil {
		k.Store.Watch()
	}
}

// ReadAhead reads what the next checkpoint needs, while the caller does something else.
func (k *Saver) ReadAhead() {
	if k.Store != nil {
		k.Store.ReadAhead()
	}
}

func (k *Saver) Close() error {
	k.DropAhead()
	if k.Store == nil {
		return nil
	}
	return k.Store.Close()
}

// Save takes a snapshot and returns its checkpoint, which the caller must journal.
func (k *Saver) Save(ctx context.Context, kind pawl.CheckpointKind, ref pawl.AttemptRef, why string, at Position) PendingCheckpoint {
	s, err := k.take(ctx, kind, ref, why, at, func(stamp snapshot.Stamp) (snapshot.Record, error) { return k.Store.Take(ctx, stamp) })
	if err != nil {
		s.Snapshot = &pawl.Snapshot{None: noSnapshotReason(err)}
	}
	return s
}

// SaveBefore takes the checkpoint before an attempt. The paths among declared that exist are in its snapshot even if they are ignored.
func (k *Saver) SaveBefore(ctx context.Context, why string, at Position, declared []string) PendingCheckpoint {
	s, err := k.take(ctx, pawl.CheckpointStep, pawl.AttemptRef{}, why, at, func(stamp snapshot.Stamp) (snapshot.Record, error) {
		return k.Store.TakeWith(ctx, stamp, outputs.Find(k.project.Root, declared))
	})
	if err != nil {
		s.Snapshot = &pawl.Snapshot{None: noSnapshotReason(err)}
	}
	return s
}

// SaveSpare is like Save for a checkpoint that nobody waits for: without a snapshot there is an error and no checkpoint. The
// error is snapshot.ErrUnchanged if the files are those of the checkpoint last.
func (k *Saver) SaveSpare(ctx context.Context, kind pawl.CheckpointKind, why string, at Position, last *pawl.Checkpoint) (PendingCheckpoint, error) {
	tree := ""
	if last != nil && last.Snapshot != nil {
		tree = last.Snapshot.Tree
	}
	return k.take(ctx, kind, pawl.AttemptRef{}, why, at, func(stamp snapshot.Stamp) (snapshot.Record, error) { return k.Store.TakeSpare(ctx, stamp, tree) })
}

// take returns the checkpoint of a snapshot that do takes.
func (k *Saver) take(
	ctx context.Context, kind pawl.CheckpointKind, ref pawl.AttemptRef, why string, at Position, do func(snapshot.Stamp) (snapshot.Record, error),
) (PendingCheckpoint, error) {
	k.DropAhead() // pruning would wait for it
	s := PendingCheckpoint{Checkpoint: pawl.Checkpoint{
		ID: runs.NewCheckpointID(), Kind: kind, Step: ref.Step, Item: ref.Item, Why: runs.ClipText(why), Live: at.otherLive(kind, ref),
	}}
	if k.Store == nil {
		return s, errors.New(k.why)
	}
	record, err := do(snapshot.Stamp{
		Checkpoint: s.ID, Kind: kind, Run: k.run, Step: ref.Step, Item: ref.Item, Attempt: ref.Attempt, Token: ref.Token,
		Why: s.Why, Seq: at.Seq, Live: s.Live,
	})
	if err != nil {
		return s, err
	}
	s.Snapshot, s.Notes, s.QuotaErr = record.Snapshot(), LeftOutNotes(&record), pruneOverQuota(ctx, k.project, k.Store)
	return s, nil
}

// PendingCheckpoint is a saved checkpoint that is not journaled yet.
type PendingCheckpoint struct {
	pawl.Checkpoint
	Notes    []string // for the user
	QuotaErr error    // why the store could not be pruned to its quota
}

// LeftOutNotes name the files that this snapshot is the first to leave out, other than those that git or .pawlignore excludes.
func LeftOutNotes(r *snapshot.Record) (notes []string) {
	for _, x := range []struct {
		is           func(snapshot.LeftOut) bool
		what, remedy string
	}{
		{snapshot.LeftOut.Derived, "derived folders", "; to store them, set snapshots: {derived: true} in .pawl/config.yaml"},
		{snapshot.LeftOut.Secret, "files that may hold secrets", "; to store one, add !NAME to .pawlignore"},
		{snapshot.LeftOut.Unreadable, "what pawl cannot read", "; make it readable, or ignore it in .pawlignore"},
		{snapshot.LeftOut.Nested, "the .git of nested repositories", "; a restore never changes or creates it"},
	} {
		if names := leftOutNames(r.NewLeftOut, x.is); names != "" {
			notes = append(notes, "checkpoints leave out "+x.what+": "+names+x.remedy)
		}
	}
	return notes
}

// leftOutNames lists the first names of one kind; "" if there are none.
func leftOutNames(all []snapshot.LeftOut, is func(snapshot.LeftOut) bool) string {
	const shown = 5
	var names []string
	for _, l := range all {
		if is(l) {
			names = append(names, oneline.Path(l.Path))
		}
	}
	if more := len(names) - shown; more > 0 {
		names = append(names[:shown], fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
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
