package server

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/project"
)

// watchEvery is how often the server looks for changes while clients follow them.
const watchEvery = time.Second

// RunChanged says that a run has new events.
type RunChanged struct {
	Project string         `json:"project"`
	Run     pawl.RunID     `json:"run"`
	Seq     pawl.Seq       `json:"seq"`
	Type    pawl.EventType `json:"type,omitempty"` // of the newest one
}

// GateChanged says that a gate was opened or closed.
type GateChanged struct {
	ID      string      `json:"id"` // <run>~<gate>
	Project string      `json:"project"`
	Run     pawl.RunID  `json:"run"`
	Gate    pawl.GateID `json:"gate"`
	Open    bool        `json:"open"`
}

// learn records the state of a project, publishes what has changed, and returns the state before.
func (r *recovery) learn(s *Project) (before *Project) {
	r.mu.Lock()
	before = r.known[s.ID]
	r.known[s.ID] = s
	r.mu.Unlock()
	was := Project{ID: s.ID}
	if before != nil {
		was = *before
	}
	if a, b := was.shown(), s.shown(); before == nil || !a.same(b) {
		r.hub.publish("project", b)
	}
	if s.seq != was.seq || s.Run != was.Run {
		r.hub.publish("run", RunChanged{s.ID, s.Run, s.seq, s.last})
	}
	tell := func(of *Project, other []pawl.GateID, open bool) {
		for _, g := range of.open {
			if of.Run != was.Run || of.Run != s.Run || !slices.Contains(other, g) {
				r.hub.publish("gate", GateChanged{string(of.Run) + "~" + string(g), s.ID, of.Run, g, open})
			}
		}
	}
	tell(&was, s.open, false)
	tell(s, was.open, true)
	return before
}

// same reports whether two states of a project look the same to clients, apart from the time of the look.
func (s Project) same(other Project) bool {
	return slices.Equal(s.comparable(), other.comparable())
}

// comparable returns the fields that clients see.
func (s Project) comparable() []any {
	return []any{s.Path, s.Run, s.Name, s.Status, s.Why, s.Percent, s.Updated.UnixNano(), s.Recovery, s.Error, s.Gates, s.Stuck, s.FailedStep, s.Session}
}

// watch looks for changes every second while a client follows them, and at once after a client's own ones.
func (r *recovery) watch(ctx context.Context) {
	var marks map[string]string
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case id := <-r.wake:
			if e, err := project.Lookup(id); err == nil && !e.Unserved {
				r.visit(ctx, e, false)
			}
		case <-tick.C:
			if r.hub.watched() {
				marks = r.refresh(ctx, marks)
			}
		}
	}
}

// visitSoon schedules a look at a project that a client has changed.
func (r *recovery) visitSoon(id string) {
	select {
	case r.wake <- id:
	default: // the next sweep does it
	}
}

// refresh reads the projects whose files have changed. marks has their fingerprints at the last refresh; it returns the new ones.
func (r *recovery) refresh(ctx context.Context, marks map[string]string) map[string]string {
	r.mu.Lock()
	known := make([]Project, 0, len(r.known))
	for _, s := range r.known {
		known = append(known, *s)
	}
	r.mu.Unlock()
	now := make(map[string]string, len(known))
	tickets := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for _, s := range known {
		mark := markOf(s)
		before, seen := marks[s.ID]
		now[s.ID] = mark
		if seen && before == mark || ctx.Err() != nil {
			continue
		}
		tickets <- struct{}{}
		all.Go(func() {
			defer func() { <-tickets }()
			r.reread(ctx, s.ID)
		})
	}
	all.Wait()
	return now
}

// markOf returns a fingerprint of a project's files. It changes with each event and each new run.
func markOf(s Project) (mark string) {
	folder := filepath.Join(s.Path, project.Folder, "runs")
	for _, path := range []string{folder, filepath.Join(folder, string(s.Run), "journal.jsonl")} {
		if info, err := disk.Lstat(path); err == nil {
			mark += fmt.Sprint(info.Size(), info.ModTime().UnixNano(), " ")
		}
	}
	return mark
}

// reread reads a project again, without resuming it.
func (r *recovery) reread(ctx context.Context, id string) {
	release, ok := r.looking.acquire(ctx, id)
	if !ok {
		return
	}
	defer release()
	r.mu.Lock()
	before := r.known[id]
	r.mu.Unlock()
	if before == nil { // removed meanwhile
		return
	}
	s := Project{ID: before.ID, Path: before.Path, Looked: before.Looked}
	defer func() {
		_ = recover() // the next sweep reports it
	}()
	_, _, err := s.read(ctx)
	if err != nil {
		return // so does it
	}
	s.Recovery, s.Error = before.Recovery, before.Error
	r.learn(&s)
}
