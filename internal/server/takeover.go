package server

import (
	"fmt"
	"time"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/journal"
	"pawl/internal/project"
)

// free is a run that has no engine anywhere, and whose newest one worked on another host.
type free struct {
	run   pawl.RunID
	seq   pawl.Seq  // of its last event
	since time.Time // when the server first saw that
}

// mayTakeOver returns "" if the server may continue a run whose newest engine worked on another host, else what it waits for. It may once
// the run had no engine and no new event for as long as the user's settings say. The server's own clock counts, from when it first saw
// that, so the other host, whose server looks more often, comes first. A run in files has no lease that could expire: a person takes it over.
func (r *recovery) mayTakeOver(p *project.Project, s *pawl.State) (wait string) {
	if stored, err := journal.StoredIn(p.Runs(), s.Run); err != nil || stored == "" {
		return fmt.Sprintf("waits for host %s, or for you: pawl resume %s", s.LastHost, s.Run)
	}
	user, err := config.ReadUser(p.Root)
	if err != nil {
		return "left alone: " + err.Error()
	}
	if user.TakeOver == 0 {
		return fmt.Sprintf("waits for host %s, or for you: pawl resume --pull %s", s.LastHost, s.Run)
	}
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	f, known := r.free[p.ID]
	if !known || f.run != s.Run || f.seq != s.Seq {
		f = free{run: s.Run, seq: s.Seq, since: now}
		r.free[p.ID] = f
	}
	if now.Sub(f.since) < time.Duration(user.TakeOver) {
		return fmt.Sprintf("waits for host %s; takes over at %s", s.LastHost, f.since.Add(time.Duration(user.TakeOver)).UTC().Format(time.TimeOnly+" UTC"))
	}
	return ""
}
