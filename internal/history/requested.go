package history

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/disk"
	"pawl/internal/project"
	"pawl/internal/runs"
	"pawl/internal/snapshot"
)

// CheckpointRequest is a checkpoint that a hook wants, and does not wait for.
type CheckpointRequest struct {
	Run     pawl.RunID          `json:"run"`
	Kind    pawl.CheckpointKind `json:"kind"`
	Why     string              `json:"why,omitempty"`
	Session pawl.SessionID      `json:"session"`
}

// requestKinds are the kinds of checkpoints that hooks want. One that comes before another serves for that too.
var requestKinds = []pawl.CheckpointKind{pawl.CheckpointBeforeCompaction, pawl.CheckpointTool}

// RequestCheckpoint says that a checkpoint is wanted. Several wants become one checkpoint, the last one's of the kind that comes first. It
// reports whether somebody must be started who takes it.
func RequestCheckpoint(p *project.Project, w CheckpointRequest) (start bool, err error) {
	data, err := json.Marshal(w)
	if err != nil {
		return false, err
	}
	if err := disk.Put(p.Wanted(w.Kind), data); err != nil {
		return false, fmt.Errorf("want a checkpoint: %w", err)
	}
	lock, err := p.LockKeeper()
	if err != nil {
		return false, nil // somebody is at it, and will see it
	}
	return true, lock.Unlock()
}

const (
	saverIdle  = 20 * time.Second      // without a want, a keeper goes
	saverPoll  = 50 * time.Millisecond // between two looks for a want
	saverPause = 400 * time.Millisecond
)

// SaveRequested takes the checkpoints that hooks want, until none was wanted for a while, or ctx ends. One process does so in a
// project; a second one returns at once. Between two checkpoints it rests, the longer the longer one takes.
func SaveRequested(ctx context.Context, p *project.Project, cfg config.Snapshots) error {
	for {
		lock, err := p.LockKeeper()
		if err != nil {
			return nil
		}
		err = saveRequests(ctx, p, cfg)
		if err = errors.Join(err, lock.Unlock()); err != nil || ctx.Err() != nil {
			return err
		}
		if !hasRequests(p) { // one that came while the lock was being given back is ours
			return nil
		}
	}
}

func saveRequests(ctx context.Context, p *project.Project, cfg config.Snapshots) error {
	store, err := runs.OpenSnapshots(ctx, p, cfg)
	if err != nil {
		return err
	}
	defer store.Close()
	for idle := time.Now(); time.Since(idle) < saverIdle; {
		w, err := nextRequest(p)
		if err != nil {
			return err
		}
		rest := saverPoll
		if w != nil {
			began := time.Now()
			if err := saveRequest(ctx, p, store, *w); err != nil {
				return err
			}
			rest, idle = max(saverPause, 4*time.Since(began)), time.Now()
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(rest):
		}
	}
	return nil
}

func hasRequests(p *project.Project) bool {
	return slices.ContainsFunc(requestKinds, func(kind pawl.CheckpointKind) bool {
		_, err := os.Lstat(p.Wanted(kind))
		return err == nil
	})
}

// nextRequest returns what is wanted, nil where nothing is. From here on whoever wants something wants another checkpoint.
func nextRequest(p *project.Project) (first *CheckpointRequest, err error) {
	for _, kind := range requestKinds {
		data, err := os.ReadFile(p.Wanted(kind))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = disk.Remove(p.Wanted(kind))
		}
		if err != nil {
			return nil, fmt.Errorf("take up a want: %w", err)
		}
		w := &CheckpointRequest{}
		if first == nil && json.Unmarshal(data, w) == nil { // else it was torn by a power cut, and what it was for is gone too
			first = w
		}
	}
	return first, nil
}

// saveRequest takes a checkpoint, and journals it unless nothing has changed since the one before.
func saveRequest(ctx context.Context, p *project.Project, store *snapshot.Store, w CheckpointRequest) error {
	by := pawl.Author{Kind: pawl.ByHook, Name: w.Session.Agent(), Session: w.Session.Native()}
	r, err := runs.Perform(ctx, p, w.Run, by, func(_ *project.Project, r *runs.Run) ([]pawl.Payload, error) {
		at := Position{Seq: r.State.Seq, Live: runs.RefsOf(r.State.Live())}
		c, record, err := TakeCheckpoint(ctx, w.Run, w.Kind, w.Why, at, store.Take)
		if errors.Is(err, snapshot.ErrQuota) {
			return nil, pruneOverQuota(ctx, p, store)
		}
		if last := r.State.LastGood; err != nil || w.Kind == pawl.CheckpointTool && last != nil && last.Snapshot != nil && last.Snapshot.Tree == record.Tree.String() {
			return nil, err
		}
		return []pawl.Payload{pawl.CheckpointSaved{Checkpoint: c}}, pruneOverQuota(ctx, p, store)
	})
	if err != nil {
		return err
	}
	return r.Log.Close()
}
