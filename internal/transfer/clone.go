package transfer

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/disk"
	"pawl/internal/history"
	"pawl/internal/project"
	"pawl/internal/runs"
	"pawl/internal/snapshot"
)

// Cloned is the result of Clone.
type Cloned struct {
	Pulled
	Root       string            `json:"project"`
	Checkpoint pawl.CheckpointID `json:"checkpoint,omitempty"` // whose files the project has; "" if the run has none
	Files      int               `json:"files"`
}

// Clone makes a new or empty folder a project with a run of a remote, and the files of its latest checkpoint. If it is interrupted, the
// folder has a file that says so.
func Clone(ctx context.Context, url, folder string, run pawl.RunID) (done Cloned, err error) {
	if err := history.RequireEmpty(folder); err != nil {
		return done, err
	}
	if err := snapshot.MarkUnfinished(folder); err != nil {
		return done, err
	}
	p, err := project.Init(folder)
	if err != nil {
		return done, err
	}
	done.Root = p.Root
	if _, err := Add(ctx, p, Usual, url, false); err != nil {
		return done, err
	}
	c, err := Connect(ctx, p, Usual)
	if err != nil {
		return done, err
	}
	cfg, err := config.Of(p)
	if err != nil {
		return done, err
	}
	store, err := runs.OpenSnapshots(ctx, p, cfg.Snapshots)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if done.Pulled, err = c.Pull(ctx, run, store); err != nil {
		return done, err
	}
	latest, err := history.LatestFiles(ctx, p, store, run)
	if err != nil {
		return done, err
	}
	if latest != nil {
		changes, err := store.Fill(ctx, *latest.Record, p.Root)
		if err != nil {
			return done, fmt.Errorf("write the files of checkpoint %s: %w", latest.ID, err)
		}
		done.Checkpoint, done.Files = latest.ID, len(changes)
		return done, nil
	}
	return done, disk.Remove(filepath.Join(p.Root, snapshot.Unfinished))
}
