package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"pawl"
	"pawl/internal/engine"
	"pawl/internal/history"
	"pawl/internal/project"
	"pawl/internal/runs"
	"pawl/internal/snapshot"
)

// checkpointReport is a checkpoint as commands print it as JSON.
type checkpointReport struct {
	Checkpoint pawl.CheckpointID   `json:"checkpoint"`
	Run        pawl.RunID          `json:"run"`
	Kind       pawl.CheckpointKind `json:"kind"`
	Step       pawl.StepID         `json:"step,omitempty"`
	Item       pawl.ItemID         `json:"item,omitempty"`
	Why        string              `json:"why,omitempty"`
	Seq        pawl.Seq            `json:"seq,omitempty"`
	Time       time.Time           `json:"time,omitzero"`
	Snapshot   string              `json:"snapshot"` // kept, pruned or none
	None       string              `json:"none,omitempty"`
	Tree       string              `json:"tree,omitempty"`
	Files      int                 `json:"files"`
	Bytes      int64               `json:"bytes"`
	Added      int64               `json:"added_bytes"`
	LeftOut    int                 `json:"left_out"`
	Live       []pawl.AttemptRef   `json:"live,omitempty"`
	Head       *snapshot.Head      `json:"head,omitempty"`
}

func checkpointOf(c history.SavedCheckpoint) checkpointReport {
	r := checkpointReport{
		Checkpoint: c.ID, Run: c.Run, Kind: c.Kind, Step: c.Step, Item: c.Item, Why: c.Why, Seq: c.Seq, Time: c.Time,
		Live: c.Live, Snapshot: "none", None: c.Unsaved(),
	}
	if s := c.Snapshot; s != nil && s.Record != "" {
		r.Snapshot, r.Tree, r.Files, r.Bytes, r.Added, r.LeftOut = "pruned", s.Tree, s.Files, s.Bytes, s.Added, s.LeftOut
	}
	if c.Record != nil {
		r.Snapshot, r.Head = "kept", c.Record.Head
	}
	return r
}

// checkpointAccess holds what the commands for checkpoints share.
type checkpointAccess struct {
	project *project.Project
	config  engine.Config
	store   *snapshot.Store
}

// withCheckpoints opens the project and its snapshots, and closes them after do.
func (a *app) withCheckpoints(ctx context.Context, do func(t *checkpointAccess) error) error {
	p, err := a.project()
	if err != nil {
		return err
	}
	cfg, err := a.engineConfig(p)
	if err != nil {
		return err
	}
	store, err := runs.OpenSnapshots(ctx, p, cfg.Snapshots)
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
// and calls do with the intact one before. verifyFirst checks the whole snapshot before do, for a do that does not.
func (a *app) withIntactCheckpoint(ctx context.Context, t *checkpointAccess, name string, verifyFirst bool, do func(history.SavedCheckpoint) error) error {
	saved, err := t.find(ctx, name)
	if err != nil {
		return err
	}
	for {
		if name == history.Latest && verifyFirst && saved.Record != nil {
			err = t.store.CheckReadable(ctx, *saved.Record)
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
			return nil, usageError("", "%s is outside of the project %s", path, p.Root)
		}
		found = append(found, filepath.ToSlash(rel))
	}
	return found, nil
}
