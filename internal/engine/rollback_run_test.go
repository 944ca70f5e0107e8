package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/engine"
	"pawl/internal/engine/enginetest"
	"pawl/internal/history"
	"pawl/internal/runs"
	"pawl/internal/snapshot"
)

// undoPlan has steps and items that can be undone, each leaving a line for what is done and undone.
const undoPlan = `name: demo
steps:
  - {id: one, run: echo one > one.txt, undo: echo undo one >> undone.txt}
  - {id: two, run: echo two > two.txt, undo: 'test ! -e stuck || { echo it is stuck >&2; exit 1; }; echo undo two $PAWL_UNDO >> "$PAWL_PROJECT/.pawl/undone.txt"'}
  - {id: plain, run: touch plain.txt}
  - {id: each, parallel: 1, foreach: {items: [x, y]}, run: echo $PAWL_ITEM > $PAWL_ITEM.txt, undo: 'echo undo $PAWL_ITEM >> "$PAWL_PROJECT/.pawl/undone.txt"'}
`

// saved returns the checkpoint of a finished step.
func saved(p *enginetest.Project, store *snapshot.Store, step pawl.StepID) history.SavedCheckpoint {
	p.Helper()
	all, err := history.Checkpoints(p.Context(), p.Project, store, p.Run)
	p.Check(err)
	for _, c := range all {
		if c.Kind == pawl.CheckpointStep && c.Step == step {
			return c
		}
	}
	p.Fatalf("step %s has no checkpoint", step)
	return history.SavedCheckpoint{}
}

// rollback prepares a rollback to a step's checkpoint.
func rollback(p *enginetest.Project, step pawl.StepID) *engine.Rollback {
	p.Helper()
	r, err := tryRollback(p, step)
	p.Check(err)
	return r
}

func tryRollback(p *enginetest.Project, step pawl.StepID) (*engine.Rollback, error) {
	p.Helper()
	store, err := runs.OpenSnapshots(p.Context(), p.Project, p.Config.Snapshots)
	p.Check(err)
	p.Cleanup(func() { store.Close() })
	r, err := engine.PrepareRollback(p.Context(), p.Config, store, saved(p, store, step), true)
	if err == nil {
		p.Cleanup(func() { r.Close() })
	}
	return r, err
}

// undone returns what the undo commands wrote.
func undone(p *enginetest.Project) string { return p.Text(".pawl/undone.txt") }

// Undo commands run newest first, each item's too, and then the files are as they were.
func TestRollback(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	p.Check(p.Do(undoPlan))
	r := rollback(p, "one")
	if len(r.Undos) != 3 || r.Undos[0].Item != "y" || r.Undos[2].Step != "two" || len(r.WithoutUndo) != 1 || r.WithoutUndo[0].Step != "plain" {
		t.Errorf("undos %+v, nothing to undo %+v", r.Undos, r.WithoutUndo)
	}
	if len(r.Changes) != 4 || len(r.Reopened) != 3 || r.Continued {
		t.Errorf("changes %+v, reopened %v", r.Changes, r.Reopened)
	}
	p.Check(r.Do(t.Context()))
	p.Check(r.Close())
	if got := undone(p); got != "undo y\nundo x\nundo two 1\n" {
		t.Errorf("undone: %q", got)
	}
	for name, want := range map[string]bool{"one.txt": true, "two.txt": false, "plain.txt": false, "x.txt": false, "y.txt": false} {
		if p.Exists(name) != want {
			t.Errorf("%s is there: %v", name, !want)
		}
	}
	p.WantStatus(pawl.Done, "one")
	if s := p.Step("two"); s.Finished() {
		t.Errorf("step two is %s", s.Status)
	}
	p.Check(p.GoOn())
	p.WantText("two.txt", "two\n")
	p.WantStatus(pawl.Done, "two", "plain", "each")
}

// A person is asked about an undo that failed: again, skip, or stop.
func TestUndoFails(t *testing.T) {
	t.Parallel()
	for option, want := range map[string]string{
		"retry": "undo y\nundo x\nundo two 2\n", "skip": "undo y\nundo x\n", "stop": "undo y\nundo x\n",
	} {
		t.Run(option, func(t *testing.T) {
			t.Parallel()
			p := enginetest.New(t)
			p.Check(p.Do(undoPlan))
			p.Write("stuck", "")
			r := rollback(p, "one")
			p.WantKind(r.Do(t.Context()), pawl.KindAtGate, "The undo command of step two failed (attempt 1): exit code 1: it is stuck. Its output is in .pawl/runs/")
			p.Check(r.Close())
			g := p.Gate()
			r = rollback(p, "one") // it waits still
			p.WantKind(r.Do(t.Context()), pawl.KindAtGate, string(g.ID))
			p.Check(r.Close())
			p.Check(removeFile(p, "stuck"))
			p.Act(runs.Choose(g.ID, option, "so be it"))
			r = rollback(p, "one")
			if !r.Continued {
				t.Error("it is a new rollback")
			}
			p.Check(r.Do(t.Context()))
			p.Check(r.Close())
			if got := undone(p); got != want {
				t.Errorf("undone %q, want %q", got, want)
			}
			if stopped := option == "stop"; p.Exists("two.txt") != stopped || (r.Stopped != "") != stopped {
				t.Errorf("two.txt is there: %v; stopped: %q", p.Exists("two.txt"), r.Stopped)
			}
		})
	}
}

// A rollback can be given up. What was undone so far stays undone, and no file is changed.
func TestRollbackIsStopped(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	p.Check(p.Do(undoPlan))
	p.Write("stuck", "")
	r := rollback(p, "one")
	p.WantKind(r.Do(t.Context()), pawl.KindAtGate)
	p.Check(r.Stop(t.Context(), "never mind"))
	p.Check(r.Close())
	if !p.Exists("two.txt") || r.Stopped != "never mind" || len(p.State().OpenGates()) > 0 {
		t.Errorf("stopped %q, gates %v", r.Stopped, p.State().OpenGates())
	}
	p.Check(p.GoOn())
	p.WantText(".pawl/undone.txt", "undo y\nundo x\n")
	p.WantStatus(pawl.Done, "one", "two", "plain", "each")
}

// heldUndo is a plan whose undo command runs until the test creates a file.
func heldUndo(more string) string {
	return "name: demo\nsteps:\n  - {id: one, run: touch one.txt}\n  - {id: two, run: touch two.txt, " + more + "undo: 'cd .pawl; echo begun >> undone.txt; until test -e go; do sleep 0.01; done; echo ended >> undone.txt'}\n"
}

// interrupted begins a rollback and leaves it while the undo runs.
func interrupted(p *enginetest.Project) {
	p.Helper()
	ctx, cancel := context.WithCancel(p.Context())
	defer cancel()
	r := rollback(p, "one")
	ended := make(chan error)
	go func() { ended <- r.Do(ctx) }()
	p.Until("the undo has begun", func() bool { return strings.Contains(undone(p), "begun") })
	cancel()
	p.WantKind(<-ended, pawl.KindInterrupted, "interrupted; the running undo command continues under its supervisor")
	p.Check(r.Close())
}

// An undo outlives the rollback that began it; the next one waits for it, and nothing is undone twice.
func TestRollbackIsInterrupted(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	p.Check(p.Do(heldUndo("")))
	interrupted(p)
	r := rollback(p, "one")
	p.Write(".pawl/go", "")
	p.Check(r.Do(t.Context()))
	p.Check(r.Close())
	if got := undone(p); got != "begun\nended\n" || p.Exists("two.txt") {
		t.Errorf("undone %q", got)
	}
}

// An undo that was lost is run again where that does no harm; else a person is asked.
func TestUndoIsLost(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		more string
		asks bool
	}{"may be repeated": {"", false}, "must not be repeated": {"idempotent: false, ", true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := enginetest.New(t)
			p.Check(p.Do(heldUndo(c.more)))
			interrupted(p)
			loseUndo(p)
			p.Write(".pawl/go", "")
			r := rollback(p, "one")
			err := r.Do(t.Context())
			if c.asks {
				p.WantKind(err, pawl.KindAtGate, "The undo command of step two was killed midway, and may have taken effect (attempt 1): its supervisor died. Its output is in .pawl/runs/", "Run it again, skip it, or stop the rollback?")
				p.Act(runs.Choose(p.Gate().ID, "retry", "it did nothing"))
				err = errors.Join(r.Close())
				r = rollback(p, "one")
				err = errors.Join(err, r.Do(t.Context()))
			}
			p.Check(err)
			p.Check(r.Close())
			if got := undone(p); got != "begun\nbegun\nended\n" || p.Exists("two.txt") {
				t.Errorf("undone %q", got)
			}
		})
	}
}

// A run is not rolled back while it is carried on, and a second rollback goes to no other checkpoint.
func TestRollbackIsRefused(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	p.Check(p.Do(undoPlan))
	p.Write("stuck", "")
	r := rollback(p, "one")
	_, err := tryRollback(p, "two")
	p.WantKind(err, pawl.KindHeld)
	p.WantKind(r.Do(t.Context()), pawl.KindAtGate)
	p.Check(r.Close())
	_, err = tryRollback(p, "two")
	p.WantKind(err, pawl.KindUsage, "the rollback to checkpoint ", " is unfinished")
}

// A rollback first judges an attempt whose end is unknown.
func TestRollbackJudgesAttemptsFirst(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	p.Create("name: demo\nsteps: [{id: one, run: touch one.txt}, {id: two, run: '" + held + "'}]\n")
	gone := make(chan bool)
	go func() { gone <- p.KilledAt("attempt.heartbeat", 1) }()
	p.Until("the second step has begun", func() bool { return p.Exists("begun") })
	killEngine(p)
	<-gone
	loseAttempt(p)
	r := rollback(p, "one")
	if len(r.InDoubt) != 1 || r.InDoubt[0].Step != "two" {
		t.Errorf("doubtful %+v", r.InDoubt)
	}
	p.Check(r.Do(t.Context()))
	p.Check(r.Close())
	if p.Exists("begun") || p.Count("attempt.ended") != 1 {
		t.Errorf("events %v", p.Story())
	}
}
