package server

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"pawl"
	"pawl/internal/cli/layout"
	"pawl/internal/journal"
	"pawl/internal/oneline"
	"pawl/internal/project"
	"pawl/internal/redact"
	"pawl/internal/resume"
	"pawl/internal/runs"
	"pawl/internal/server/client"
	"pawl/internal/server/webhooks"
	"pawl/internal/watchdog"
)

const (
	sweepEvery = 15 * time.Second // between two looks at all projects
	atOnce     = 16               // projects that are looked at together
	startLimit = time.Minute      // for an engine to open its run
	pullLimit  = 30 * time.Minute // for the same, if it fetches files first
	maxStarts  = 3                // engines that are started for a run without a finished step or item in between
)

// recovery looks at all projects, at start and then regularly, and resumes runs that have no engine.
type recovery struct {
	Config
	said   sync.Mutex          // guards Log
	looks  atomic.Int64        // number of the newest look
	visits exclusive           // by the project's id: two must not start an engine each
	mu     sync.Mutex          // guards what follows
	done   bool                // all projects have been looked at once
	known  map[string]*watched // by the project's id
	tries  map[string]try      // by the project's id
	free   map[string]free     // by the project's id

	rests *rests
	hooks *webhooks.Hooks

	hub  *hub
	wake chan string // ids of projects that clients have changed

	metrics
}

// watched is what the server knows of a project.
type watched struct {
	client.Project

	resume  bool           // nobody works on the run, and nobody stopped it
	seq     pawl.Seq       // of the run's last event
	last    pawl.EventType // of that event
	open    []pawl.GateID
	expires time.Time // when the first of the open gates expires; zero: none does
	engine  bool      // an engine works on the run
	look    int64     // number of the look: a later one has a larger number
}

// try is what the server knows of the engines that it started for the current run of a project.
type try struct {
	run      pawl.RunID
	starts   int      // since the run last finished a step or item
	finished int      // steps and items, at the last start
	refused  string   // why the last start failed; empty: it did not
	seq      pawl.Seq // the run's last event after that
}

func newRecovery(c Config) *recovery {
	return &recovery{
		Config: c, known: map[string]*watched{}, tries: map[string]try{}, free: map[string]free{}, rests: openRests("", c.Version), hooks: &webhooks.Hooks{}, hub: newHub(time.Now()), wake: make(chan string, 100),
	}
}

// run sweeps until ctx ends.
func (r *recovery) run(ctx context.Context) {
	for {
		r.sweep(ctx)
		select {
		case <-ctx.Done():
			return
		case <-time.After(sweepEvery):
		}
	}
}

// sweep looks at every registered project, each alone: what is wrong with one does not touch the next.
func (r *recovery) sweep(ctx context.Context) {
	began := time.Now()
	entries, err := entries()
	if err != nil {
		r.say("the registry of projects: %v", err)
		if len(entries) == 0 {
			return
		}
	}
	first := !r.ready()
	if first {
		r.say("found %s", layout.Count(len(entries), "project"))
	}
	tickets := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for _, entry := range entries {
		select {
		case tickets <- struct{}{}:
		case <-ctx.Done():
			all.Wait()
			return
		}
		all.Go(func() {
			defer func() { <-tickets }()
			r.visit(ctx, entry, first)
		})
	}
	all.Wait()
	if err == nil {
		r.forgetRemoved(entries)
	}
	r.swept(began)
	if first {
		r.mu.Lock()
		r.done = true
		r.mu.Unlock()
		r.say("recovery complete")
	}
}

// forgetRemoved forgets the projects that are not in the registry any more. Clients then read the lists again.
func (r *recovery) forgetRemoved(entries []project.Entry) {
	served := make(map[string]bool, len(entries))
	for _, e := range entries {
		served[e.ID] = true
	}
	removed := func(id string) bool { return !served[id] }
	if err := r.rests.keep(served); err != nil {
		r.say("%v", err)
	}
	r.mu.Lock()
	before := len(r.known)
	maps.DeleteFunc(r.known, func(id string, _ *watched) bool { return removed(id) })
	maps.DeleteFunc(r.tries, func(id string, _ try) bool { return removed(id) })
	maps.DeleteFunc(r.free, func(id string, _ free) bool { return removed(id) })
	changed := len(r.known) < before
	r.mu.Unlock()
	if changed {
		r.hub.publish("reset", struct{}{})
	}
}

// visit looks at one project, and resumes its run if it has no engine. It logs what it did. At the first look of each project it also logs
// that there is nothing to do.
func (r *recovery) visit(ctx context.Context, entry project.Entry, first bool) {
	release, ok := r.visits.acquire(ctx, entry.ID)
	if !ok {
		return
	}
	defer release()
	s := watched{Project: client.Project{ID: entry.ID, Path: entry.Path, Looked: time.Now().UTC()}, look: r.looks.Add(1)}
	func() {
		defer func() {
			if fault := recover(); fault != nil {
				s.Recovery, s.Error = "failed", fmt.Sprintf("panic: %v", fault)
			}
		}()
		r.lookIfChanged(ctx, &s)
	}()
	before := r.learn(&s)
	if first || before == nil || before.Recovery != s.Recovery || before.Error != s.Error {
		r.say("%s: %s", entry.Path, s.line())
	}
}

func (s *watched) line() string {
	if s.Error != "" {
		return s.Recovery + ": " + s.Error
	}
	return s.Recovery
}

// lookIfChanged looks at a project, unless it rests and its files are as they were.
func (r *recovery) lookIfChanged(ctx context.Context, s *watched) {
	p, err := find(project.Entry{ID: s.ID, Path: s.Path})
	if err != nil {
		s.Recovery, s.Error = "skipped", err.Error()
		return
	}
	if r.rests.find(p, s) {
		return
	}
	before := fingerprint(p)
	r.look(ctx, s)
	r.rests.record(s, before)
}

// look reads a project's current run, and resumes it.
func (r *recovery) look(ctx context.Context, s *watched) {
	p, run, err := s.read(ctx)
	if errors.Is(err, pawl.ErrNoRun) {
		s.Recovery = "left alone: no runs yet"
		return
	}
	if err != nil {
		s.Recovery, s.Error = "skipped", err.Error()
		return
	}
	if !s.resume {
		r.forget(s.ID, run.State)
		return
	}
	if holder, held, err := journal.LeaseHolder(p.Runs(), s.Run); held || err != nil {
		s.Recovery = "waits for host " + holder.Host + ": an engine there has the run's lease"
		if err != nil {
			s.Recovery, s.Error = "not resumed", err.Error()
		}
		return
	}
	var args []string
	if resume.Elsewhere(p, run.State) {
		if wait := r.mayTakeOver(p, run.State); wait != "" {
			s.Recovery = wait
			return
		}
		args = []string{"--pull"}
	}
	if ok, why := r.mayStart(s.ID, run.State); !ok {
		s.Recovery, s.Error = "not resumed", why
		return
	}
	err = r.start(ctx, p, s.Run, args...)
	r.countStart(err)
	if err != nil {
		s.Recovery, s.Error = "not resumed", err.Error()
		r.refused(ctx, p, s.Run, err)
		return
	}
	done := "resumed: " + s.Recovery
	if _, _, err := s.read(ctx); err != nil {
		s.Error = err.Error()
	}
	s.Recovery = done
}

// start starts an engine for a run, as a process of its own.
func (r *recovery) start(ctx context.Context, p *project.Project, run pawl.RunID, args ...string) error {
	limit := startLimit
	if len(args) > 0 {
		limit = pullLimit
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	args = append([]string{"resume", "--background", "--json"}, args...)
	_, err := r.Pawl(ctx, p.Root, append(args, "--", string(run))...)
	return err
}

// read reads the current run of a project, and decides whether to resume it.
func (s *watched) read(ctx context.Context) (*project.Project, *runs.Run, error) {
	p, err := find(project.Entry{ID: s.ID, Path: s.Path})
	if err != nil {
		return nil, nil, err
	}
	id, err := runs.FindRun(ctx, p, "")
	if err != nil {
		return p, nil, err
	}
	load := runs.Glance
	if stored, err := journal.StoredIn(p.Runs(), id); err == nil && stored != "" {
		load = runs.Load // the copy may be behind
	}
	run, err := load(ctx, p, id)
	if err != nil {
		return p, nil, err
	}
	defer run.Log.Close()
	reason, err := runs.Elsewhere(p, id)
	if err == nil && reason != "" {
		err = fmt.Errorf("run %s is unverified: %s; pawl adopt %s", id, reason, id)
	}
	if err != nil {
		return p, run, err
	}
	holder, engine := p.EngineHolder()
	engine = engine && holder.WorksOn(run.State)
	word, why := run.State.StandingIn(run.Plan, engine)
	s.Run, s.Name, s.Status, s.Percent, s.Updated = id, run.State.Name, run.State.StatusIn(run.Plan, engine), run.State.Percent(run.Plan), run.State.Updated
	if s.Why = why; word != string(s.Status) {
		s.Why = word + ": " + why
	}
	s.engine = engine
	s.describe(run)
	s.resume, s.Recovery = resume.Unattended(run.State, run.Plan, engine, s.Looked)
	if !s.resume {
		s.Recovery = "left alone: " + s.Recovery
	}
	return p, run, nil
}

// describe sets what a list of projects shows of a run, and selects by.
func (s *watched) describe(r *runs.Run) {
	s.open, s.expires, s.Waiting, s.Stuck, s.Retrying, s.FailedStep, s.FailedWhy, s.Reason = nil, time.Time{}, nil, false, false, "", "", ""
	s.seq, s.Session = r.State.Seq, r.State.Kind == pawl.SessionRun
	if e, err := r.Log.Event(r.State.Seq); err == nil {
		s.last = e.Type
	}
	for _, g := range r.State.OpenGates() {
		s.open = append(s.open, g.ID)
		if !g.Expires.IsZero() && (s.expires.IsZero() || g.Expires.Before(s.expires)) {
			s.expires = g.Expires
		}
		if s.Waiting == nil || g.Opened.Before(*s.Waiting) {
			opened := g.Opened
			s.Waiting = &opened
		}
	}
	s.Gates = len(s.open)
	for _, live := range r.State.Live() {
		s.Stuck = s.Stuck || live.Health == string(watchdog.Stalled) || live.Health == string(watchdog.Overdue)
	}
	for _, step := range r.Plan.Steps() {
		st := r.State.Steps[step.ID]
		if st != nil && st.Status == pawl.FailedForGood && !st.Tolerated() && s.FailedStep == "" {
			s.FailedStep, s.FailedWhy = step.ID, redact.OfProcess().Text(oneline.Clip(st.Why, maxWhy))
			s.Reason = reasonOf(s.FailedWhy)
		}
		s.Retrying = s.Retrying || unended(s.Status) && retrying(st)
	}
}

// maxWhy is how much of the reason of a failure a list has, in bytes.
const maxWhy = 300

// retrying reports whether a step, or one of its items, failed or crashed and is not finished.
func retrying(st *pawl.StepState) bool {
	if st == nil || st.Finished() || st.Status == pawl.FailedForGood {
		return false
	}
	again := st.Retries.Failures+st.Retries.LostInARow > 0
	if st.Items != nil {
		for _, item := range st.Items.Retries {
			again = again || item.Failures+item.LostInARow > 0
		}
	}
	return again
}

// mayStart reports whether to start another engine for a run, and counts it. If not, why says so.
func (r *recovery) mayStart(project string, s *pawl.State) (ok bool, why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t, finished := r.tries[project], finishedIn(s)
	if t.run != s.Run {
		t = try{run: s.Run}
	}
	if finished > t.finished {
		t.starts = 0
	}
	switch {
	case t.refused != "" && t.seq == s.Seq:
		return false, t.refused
	case t.starts >= maxStarts:
		return false, fmt.Sprintf("%d engines have ended without finishing a step; pawl resume %s", maxStarts, s.Run)
	}
	r.tries[project] = try{run: s.Run, starts: t.starts + 1, finished: finished}
	return true, ""
}

// refused records that an engine could not be started, so that it is not tried again before the run changes. What may pass by itself is no
// reason, and does not count: another process that holds the project, a database that does not answer. A command that was killed counts,
// since its engine may have begun.
func (r *recovery) refused(ctx context.Context, p *project.Project, run pawl.RunID, why error) {
	failed, ok := errors.AsType[*CommandError](why)
	switch {
	case !ok:
		return
	case held(why) || failed.Failure.Kind == pawl.KindInternal:
		r.uncount(p.ID)
		return
	}
	s, err := runs.LoadState(ctx, p, run)
	if err != nil {
		return // the next look says so
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.tries[p.ID]
	t.refused, t.seq = why.Error(), s.Seq
	r.tries[p.ID] = t
}

// uncount takes back what mayStart counted: no engine was started.
func (r *recovery) uncount(project string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.tries[project]
	t.starts--
	r.tries[project] = t
}

// held reports whether a command failed because another process holds the project.
func held(err error) bool {
	failed, ok := errors.AsType[*CommandError](err)
	return ok && failed.Failure.Kind == pawl.KindHeld
}

// forget forgets the engines of a project's run that has ended.
func (r *recovery) forget(project string, s *pawl.State) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.Ended() {
		delete(r.tries, project)
	}
}

// finishedIn counts the finished steps and items of a run.
func finishedIn(s *pawl.State) int {
	n := 0
	for _, st := range s.Steps {
		if st.Finished() {
			n++
		}
		if st.Items != nil {
			n += st.Items.Count
		}
	}
	return n
}

// ready reports whether all projects have been looked at once.
func (r *recovery) ready() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.done
}

func (r *recovery) say(format string, args ...any) {
	r.said.Lock()
	defer r.said.Unlock()
	fmt.Fprintf(r.Log, "pawl: "+format+"\n", args...)
}
