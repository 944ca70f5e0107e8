package history

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/disk"
	"pawl/internal/project"
	"pawl/internal/runs"
	"pawl/internal/snapshot"
)

// CheckpointRequest is a hook's request for a checkpoint. The hook does not wait for it.
type CheckpointRequest struct {
	Run     pawl.RunID          `json:"run"`
	Kind    pawl.CheckpointKind `json:"kind"`
	Why     string              `json:"why,omitempty"`
	Session pawl.SessionID      `json:"session"`
}

// requestKinds are the kinds of checkpoints that hooks request. An earlier kind in the list satisfies a later one.
var requestKinds = []pawl.CheckpointKind{pawl.CheckpointBeforeCompaction, pawl.CheckpointTool}

// RequestCheckpoint requests a checkpoint. Several requests share one checkpoint of the kind that comes first in
// requestKinds. start reports whether the caller must start a process that calls SaveRequested.
func RequestCheckpoint(p *project.Project, w CheckpointRequest) (start bool, err error) {
	data, err := json.Marshal(w)
	if err != nil {
		return false, err
	}
	if err := disk.Put(p.CheckpointRequest(w.Kind), data); err != nil {
		return false, fmt.Errorf("request a checkpoint: %w", err)
	}
	lock, err := p.LockCheckpointer()
	if err != nil {
		return false, nil // another process is saving and will see the request
	}
	return true, lock.Unlock()
}

const (
	saverIdle  = 2 * time.Minute        // without a request for so long, the saver exits; until then it watches what changes
	saverPoll  = 50 * time.Millisecond  // interval between two checks for a request
	saverSlow  = 500 * time.Millisecond // the same, after saverBusy without a request
	saverBusy  = 5 * time.Second
	saverPause = 400 * time.Millisecond
)

// SaveRequested saves requested checkpoints until none was requested for a while, or ctx ends. A project has one such
// process; a second call returns at once. The pause between two checkpoints grows with their duration. If another project takes the
// folder meanwhile, it leaves that one's requests alone: its store is the old one's.
func SaveRequested(ctx context.Context, p *project.Project, cfg config.Snapshots) error {
	for {
		lock, err := p.LockCheckpointer()
		if err != nil {
			return nil
		}
		err = saveRequests(ctx, p, cfg, lock)
		replaced := !lock.InPlace()
		if err = errors.Join(err, lock.Unlock()); err != nil || ctx.Err() != nil || replaced {
			return err
		}
		if !hasRequests(p) { // a request that arrived during the unlock is ours
			return nil
		}
	}
}

func saveRequests(ctx context.Context, p *project.Project, cfg config.Snapshots, lock *project.Lock) error {
	store, err := runs.OpenSnapshots(ctx, p, cfg)
	if err != nil {
		return err
	}
	defer store.Close()
	store.Watch()
	for idle := time.Now(); time.Since(idle) < saverIdle && lock.InPlace(); {
		w, err := nextRequest(p)
		if err != nil {
			return err
		}
		rest := saverPoll
		if time.Since(idle) > saverBusy {
			rest = saverSlow
		}
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
		_, err := disk.Lstat(p.CheckpointRequest(kind))
		return err == nil
	})
}

// nextRequest takes the pending request, nil for none. Later requests get another checkpoint.
func nextRequest(p *project.Project) (first *CheckpointRequest, err error) {
	for _, kind := range requestKinds {
		data, err := disk.ReadFile(p.CheckpointRequest(kind), disk.RecordLimit)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = disk.Remove(p.CheckpointRequest(kind))
		}
		if err != nil {
			return nil, fmt.Errorf("read a checkpoint request: %w", err)
		}
		if first == nil {
			first = parseRequest(data)
		}
	}
	return first, nil
}

// parseRequest returns a request; nil if a power cut tore it, like what it was for.
func parseRequest(data []byte) *CheckpointRequest {
	w := &CheckpointRequest{}
	if json.Unmarshal(data, w) != nil {
		return nil
	}
	return w
}

// saveRequest saves and journals a checkpoint unless nothing has changed since the previous one.
func saveRequest(ctx context.Context, p *project.Project, store *snapshot.Store, w CheckpointRequest) error {
	by := pawl.Author{Kind: pawl.ByHook, Name: w.Session.Agent(), Session: w.Session.Native()}
	r, err := runs.Perform(ctx, p, w.Run, by, func(_ *project.Project, r *runs.Run) ([]pawl.Payload, error) {
		at := Position{Seq: r.State.Seq, Live: runs.RefsOf(r.State.Live())}
		c, record, err := TakeCheckpoint(ctx, w.Run, w.Kind, reasonNow(ctx, p, w.Why)+during(r.State, w.Kind), at, store.Take)
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

// during says that a checkpoint after a tool call may hold a part of another one: its intent is on record, and no outcome.
func during(s *pawl.State, kind pawl.CheckpointKind) string {
	open := func(o *pawl.OperationState) bool { return !o.Abandoned && o.Kind != pawl.OperationReads }
	if kind != pawl.CheckpointTool || !slices.ContainsFunc(slices.Collect(maps.Values(s.Operations)), open) {
		return ""
	}
	return ", during another tool call"
}

// reasonNow returns the reason of a checkpoint that a hook requested. It says if the files are partly restored.
func reasonNow(ctx context.Context, p *project.Project, why string) string {
	if u, _, err := runs.UnfinishedRestore(ctx, p); err == nil && u != nil {
		return strings.TrimSpace("during the unfinished restore of " + string(u.Checkpoint) + "  " + why)
	}
	return why
}
