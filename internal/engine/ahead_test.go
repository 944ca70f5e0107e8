package engine_test

import (
	"context"
	"os"
	"testing"
	"time"

	"pawl"
	"pawl/internal/engine"
	"pawl/internal/engine/enginetest"
	"pawl/internal/project"
	"pawl/internal/runs"
	"pawl/internal/snapshot"
)

// A walk that began before the engine is in the checkpoint of the attempt that ended before it, unless the files may have been changed by
// something that pawl did since.
func TestWalkAhead(t *testing.T) {
	t.Parallel()
	const late = 1 // late.txt
	for _, c := range []struct {
		name  string
		plan  string
		since func(*enginetest.Project, *engine.Ahead)
		more  int // files in the checkpoint that were written after the walk
	}{
		{name: "used"},
		{name: "used although a heartbeat is due", since: func(p *enginetest.Project, _ *engine.Ahead) { p.Config.Snapshots.Every = 1 }},
		{name: "a person was asked", since: func(_ *enginetest.Project, a *engine.Ahead) { a.Drop() }, more: late},
		{name: "another process held the project", more: late, since: func(p *enginetest.Project, _ *engine.Ahead) {
			lock, err := p.LockEngine(project.Holder{PID: os.Getpid(), Since: time.Now().UTC(), Command: "pawl restore"})
			p.Check(err)
			p.Check(lock.Unlock())
		}},
		{name: "checks ran", more: late, since: func(p *enginetest.Project, _ *engine.Ahead) {
			p.Write("plan.yaml", "name: demo\nsteps: [{id: a, run: '"+held+"', accept: {there: test -e go}}]\n")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := enginetest.New(t)
			killed(p, "name: demo\nsteps: [{id: a, run: '"+held+"'}]\n")
			if walkAhead(p) != nil {
				t.Fatal("it walks while an attempt runs")
			}
			endsMeanwhile(p)
			p.Config.Ahead = walkAhead(p)
			if p.Config.Ahead == nil {
				t.Fatal("it does not walk")
			}
			p.Until("the walk is over", func() bool { return p.Exists(".pawl/snapshots/stat") })
			if c.since != nil {
				c.since(p, p.Config.Ahead)
			}
			p.Write("late.txt", "")
			p.Check(p.GoOn())
			done := enginetest.Payloads[pawl.StepDone](p)
			if len(done) != 1 || done[0].Save == nil || done[0].Save.Snapshot == nil {
				t.Fatalf("done %+v", done)
			}
			const files = 4 // plan.yaml, begun, go, ledger.txt
			if got := done[0].Save.Snapshot.Files; got != files+c.more {
				t.Errorf("the checkpoint has %d files, not %d", got, files+c.more)
			}
		})
	}
}

func walkAhead(p *enginetest.Project) *engine.Ahead {
	p.Helper()
	r, err := runs.LoadToContinue(p.Context(), p.Project, p.Run)
	p.Check(err)
	defer r.Log.Close()
	return engine.WalkAhead(p.Context(), p.Config, r)
}

// A failed attempt has no checkpoint, and the walk for it does not keep others from pruning while the run continues.
func TestWalkAheadWithoutCheckpoint(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	killed(p, "name: demo\nsteps: [{id: a, run: '"+held+"', outputs: [none.txt], retry: {attempts: 1}, continue_on_error: true}, {id: b, run: 'touch b; until test -e end; do sleep 0.01; done'}]\n")
	endsMeanwhile(p)
	p.Config.Ahead = walkAhead(p)
	e := p.Resume()
	p.Until("the next step runs", func() bool { return p.Exists("b") })
	store, err := runs.OpenSnapshots(t.Context(), p.Project, p.Config.Snapshots)
	p.Check(err)
	defer store.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err = store.Prune(ctx, snapshot.PruneOptions{})
	p.Check(err)
	p.Write("end", "")
	p.Check(e.Wait())
}
