package engine

import (
	"context"
	"errors"
	"os"
	"slices"
	"time"

	"pawl"
	"pawl/internal/journal"
	"pawl/internal/project"
	"pawl/internal/snapshot"
)

// makeRoom prunes the snapshots when they take more than their quota. It returns the checkpoints of run that went; other
// runs are told in their own journals.
func makeRoom(ctx context.Context, p *project.Project, store *snapshot.Store, run pawl.RunID) ([]pawl.CheckpointID, error) {
	full, err := store.Full()
	if err != nil || !full {
		return nil, err
	}
	pruned, err := prune(ctx, p, store, snapshot.Pruning{Quota: true})
	return pruned[run], errors.Join(err, tellPruned(ctx, p, pruned, "quota", run))
}

// prune lets snapshots go, and returns the checkpoints that they belonged to, by run.
func prune(ctx context.Context, p *project.Project, store *snapshot.Store, how snapshot.Pruning) (map[pawl.RunID][]pawl.CheckpointID, error) {
	names, err := namedCheckpoints(ctx, p)
	if err != nil {
		return nil, err
	}
	how.Now = time.Now()
	how.Named = func(r snapshot.Record) bool { return names[r.Checkpoint] }
	pruned, err := store.Prune(ctx, how)
	gone := map[pawl.RunID][]pawl.CheckpointID{}
	for _, r := range pruned.Gone {
		gone[r.Run] = append(gone[r.Run], r.Checkpoint)
	}
	return gone, err
}

// tellPruned journals which checkpoints lost their snapshots, in every run but one. A run that is archived or gone is
// not told: nobody reads it.
func tellPruned(ctx context.Context, p *project.Project, gone map[pawl.RunID][]pawl.CheckpointID, why string, but pawl.RunID) error {
	var errs []error
	for run, ids := range gone {
		if run == but {
			continue
		}
		r, err := Perform(ctx, p, run, pawl.Author{Kind: pawl.ByEngine}, func(*project.Project, *Run) ([]pawl.Payload, error) {
			return []pawl.Payload{pawl.CheckpointsPruned{Checkpoints: ids, Why: why}}, nil
		})
		if errors.Is(err, os.ErrNotExist) || pawl.KindOf(err) == pawl.KindNothing {
			continue
		}
		if err == nil {
			err = r.Log.Close()
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// namedCheckpoints finds the checkpoints that journals name, those of archived runs too. What a journal that cannot be
// read names is not known, so then nothing may be pruned.
func namedCheckpoints(ctx context.Context, p *project.Project) (map[pawl.CheckpointID]bool, error) {
	names := map[pawl.CheckpointID]bool{}
	for _, folder := range []string{p.Runs(), p.Archive()} {
		runs, err := journal.Runs(folder)
		if err != nil {
			return nil, err
		}
		for _, run := range runs {
			if err := namesIn(ctx, folder, run, names); err != nil {
				return nil, err
			}
		}
	}
	return names, nil
}

func namesIn(ctx context.Context, folder string, run pawl.RunID, names map[pawl.CheckpointID]bool) error {
	log, err := journal.Open(folder, run)
	if errors.Is(err, journal.ErrEmpty) {
		return nil
	}
	if err != nil {
		return err
	}
	for event, err := range log.Events(0) {
		if err != nil {
			return errors.Join(err, log.Close())
		}
		if c := checkpointIn(event); c != nil {
			names[c.ID] = true
		}
	}
	return errors.Join(ctx.Err(), log.Close())
}

// checkpointIn returns the checkpoint that an event makes; nil where it makes none.
func checkpointIn(event pawl.Event) *pawl.Checkpoint {
	if !slices.Contains([]pawl.EventType{pawl.CheckpointSaved{}.Event(), pawl.StepDone{}.Event()}, event.Type) {
		return nil
	}
	payload, err := event.Payload()
	if err != nil {
		return nil // it is kept and reported by the fold
	}
	var c *pawl.Checkpoint
	switch p := payload.(type) {
	case pawl.CheckpointSaved:
		c = &p.Checkpoint
	case pawl.StepDone:
		c = p.Save
	}
	if c != nil {
		c.Seq, c.Time = event.Seq, event.Time
	}
	return c
}
