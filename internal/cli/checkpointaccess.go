package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"pawl/internal/engine"
	"pawl/internal/history"
	"pawl/internal/oneline"
	"pawl/internal/project"
	"pawl/internal/runs"
	"pawl/internal/snapshot"
)

// checkpointAccess holds what the commands for checkpoints share.
type checkpointAccess struct {
	project *project.Project
	config  engine.Config
	store   *snapshot.Store
}

// withCheckpoints opens the project and its snapshots, and closes them after do. With readOnly it changes nothing there.
func (a *app) withCheckpoints(ctx context.Context, readOnly bool, do func(t *checkpointAccess) error) error {
	p, err := a.project()
	if err != nil {
		return err
	}
	cfg, err := a.engineConfig(p)
	if err != nil {
		return err
	}
	open := runs.OpenSnapshots
	if readOnly {
		open = runs.OpenSnapshotsReadOnly
	}
	store, err := open(ctx, p, cfg.Snapshots)
	if err != nil {
		return err
	}
	return errors.Join(do(&checkpointAccess{project: p, config: cfg, store: store}), store.Close())
}

// find resolves a checkpoint's name.
func (t *checkpointAccess) find(ctx context.Context, name string) (history.SavedCheckpoint, error) {
	return history.FindCheckpoint(ctx, t.project, t.store, name)
}

// withIntactCheckpoint calls do with the named checkpoint. If that is the latest one and its snapshot is damaged, it notes that
// and calls do with the intact one before. verifyFirst checks the snapshot, or these paths of it, before do, for a do that does not.
func (a *app) withIntactCheckpoint(ctx context.Context, t *checkpointAccess, name string, verifyFirst bool, paths []string, do func(history.SavedCheckpoint) error) error {
	saved, err := t.find(ctx, name)
	if err != nil {
		return err
	}
	for {
		if name == history.Latest && verifyFirst && saved.Record != nil {
			err = t.store.CheckReadable(ctx, *saved.Record, paths)
		}
		if err == nil {
			err = do(saved)
		}
		if name != history.Latest || !history.IsIncomplete(err) {
			return err
		}
		before, findErr := history.GoodBefore(ctx, t.project, t.store, saved)
		if findErr != nil || before.ID == "" {
			return errors.Join(err, findErr)
		}
		a.printNotes([]string{fmt.Sprintf("checkpoint %s is damaged: %v\nusing the checkpoint before it: %s", saved.ID, err, before.ID)})
		saved, err = before, nil
	}
}

// projectPaths returns paths that the user gave, relative to the project's root.
func (a *app) projectPaths(p *project.Project, paths []string) ([]string, error) {
	here, err := a.here()
	if err != nil {
		return nil, err
	}
	if here, err = filepath.Abs(here); err == nil {
		here, err = filepath.EvalSymlinks(here)
	}
	if err != nil {
		return nil, err
	}
	var found []string
	for _, path := range paths {
		full := path
		if !filepath.IsAbs(path) {
			full = filepath.Join(here, path)
		}
		rel, err := filepath.Rel(p.Root, full)
		if err != nil || !filepath.IsLocal(rel) {
			return nil, usageError("", "%s is outside of the project %s", oneline.Path(path), p.Root)
		}
		found = append(found, filepath.ToSlash(rel))
	}
	return found, nil
}
