package engine

import (
	"context"
	"errors"
	"slices"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/project"
	"pawl/internal/snapshot"
)

// keeper takes the run's checkpoints. Whatever goes wrong with a snapshot is no fault of the work: the checkpoint then
// says why it has none.
type keeper struct {
	project *project.Project
	run     pawl.RunID
	store   *snapshot.Store // nil: why says why
	why     string
}

func openKeeper(ctx context.Context, p *project.Project, run pawl.RunID, cfg config.Snapshots) *keeper {
	k := &keeper{project: p, run: run}
	if cfg.Off {
		k.why = "switched off in .pawl/config.yaml"
		return k
	}
	var err error
	if k.store, err = OpenSnapshots(ctx, p, cfg); err != nil {
		k.why = clip(err.Error())
	}
	return k
}

func (k *keeper) close() error {
	if k.store == nil {
		return nil
	}
	return k.store.Close()
}

// save takes a snapshot. It returns the checkpoint that names it.
func (k *keeper) save(ctx context.Context, kind pawl.CheckpointKind, ref pawl.AttemptRef, why string, at standing) saved {
	c := pawl.Checkpoint{
		ID: newCheckpointID(), Kind: kind, Step: ref.Step, Item: ref.Item, Why: clip(why), Live: at.besides(kind, ref),
		Snapshot: &pawl.Snapshot{None: k.why},
	}
	if k.store == nil {
		return saved{Checkpoint: c}
	}
	record, err := k.store.Take(ctx, snapshot.Stamp{
		Checkpoint: c.ID, Kind: kind, Run: k.run, Step: ref.Step, Item: ref.Item, Attempt: ref.Attempt, Token: ref.Token,
		Why: c.Why, Seq: at.seq, Live: c.Live,
	})
	if err != nil {
		c.Snapshot.None = noneFor(err)
		return saved{Checkpoint: c}
	}
	c.Snapshot = record.Snapshot()
	return saved{Checkpoint: c, fault: makeRoom(ctx, k.project, k.store)}
}

// saved is a checkpoint that was taken and is not journaled yet.
type saved struct {
	pawl.Checkpoint
	fault error // why the store could not be brought back within its quota
}

// noneFor says in a few words why there is no snapshot.
func noneFor(err error) string {
	if errors.Is(err, snapshot.ErrQuota) {
		return "quota"
	}
	return clip(err.Error())
}

// standing is where the run stands while a snapshot is taken.
type standing struct {
	seq  pawl.Seq
	live []pawl.AttemptRef
}

// besides returns the live attempts but for the one whose end the checkpoint is of.
func (at standing) besides(kind pawl.CheckpointKind, ref pawl.AttemptRef) []pawl.AttemptRef {
	if kind != pawl.CheckpointStep && kind != pawl.CheckpointEmergency {
		return at.live
	}
	return slices.DeleteFunc(slices.Clone(at.live), func(l pawl.AttemptRef) bool { return l.Token == ref.Token })
}
