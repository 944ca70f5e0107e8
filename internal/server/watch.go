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
	"pawl/internal/server/client"
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

// learn records the state of a project, publishes what has changed, and returns the state before. If a look that began later has been
// recorded meanwhile, only what this one did is recorded.
func (r *recovery) learn(s *watched) (before *watched) {
	r.mu.Lock() // also for publish: clients get the states in this order
	defer r.mu.Unlock()
	before = r.known[s.ID]
	if before != nil && before.look > s.look {
		newer := *before
		newer.Recovery, newer.Error, newer.Looked = s.Recovery, s.Error, s.Looked
		s = &newer
	}
	r.known[s.ID] = s
	was := watched{Project: client.Project{ID: s.ID}}
	if before != nil {
		was = *before
	}
	if a, b := was.shown(), s.shown(); before == nil || !same(a, b) {
		r.hub.publish("project", b)
	}
	if s.seq != was.seq || s.Run != was.Run {
		r.hub.publish("run", RunChanged{s.ID, s.Run, s.seq, s.last})
	}
	tell := func(of *watched, other []pawl.GateID, open bool) {
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
func same(a, b client.Project) bool {
	return slices.Equal(comparable(a), comparable(b))
}

// comparable returns the fields that clients see.
func comparable(s client.Project) []any {
	return []any{s.Path, s.Run, s.Name, s.Status, s.Why, s.Percent, s.Updated.UnixNano(), s.Recovery, s.Error, s.Gates, s.Stuck, s.FailedStep, s.FailedWhy, s.Retrying, s.Session}
}

// watch looks for changes every second while a client follows them, and at once after a client's own ones.
func (r *recovery) watch(ctx context.Context) {
	var marks map[string]string
	var visits sync.WaitGroup
	defer visits.Wait()
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case id := <-r.wake:
			if e, err := project.Lookup(id); err == nil && !e.Unserved {
				visits.Go(func() { r.visit(ctx, e, false) }) // it may start an engine, which takes a while
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
	known := make([]watched, 0, len(r.known))
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
func markOf(s watched) (mark string) {
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
	before := r.knownProject(id)
	if before == nil { // removed meanwhile
		return
	}
	s := watched{Project: client.Project{ID: before.ID, Path: before.Path}, look: r.looks.Add(1)}
	defer func() {
		_ = recover() // the next sweep reports it
	}()
	_, _, err := s.read(ctx)
	if before = r.knownProject(id); err != nil || before == nil {
		return // the next sweep reports it
	}
	s.Recovery, s.Error, s.Looked = before.Recovery, before.Error, before.Looked
	r.learn(&s)
}

// knownProject returns what the server saw of a project last; nil: nothing.
func (r *recovery) knownProject(id string) *watched {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.known[id]
}
