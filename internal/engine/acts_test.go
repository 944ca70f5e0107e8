package engine_test

import (
	"strings"
	"sync"
	"testing"

	"pawl"
	"pawl/internal/engine/enginetest"
	"pawl/internal/runs"
)

// A pause lets what runs come to its end, and starts nothing more until the run is resumed.
func TestPause(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	e := p.Start("name: demo\nsteps: [{id: a, run: '" + held + "'}, {id: b, run: echo b >> ledger.txt}]\n")
	p.UntilEvent("attempt.started", 1)
	p.Act(runs.Pause("lunch"))
	p.Write("go", "")
	p.WantKind(e.Wait(), pawl.KindAtGate, "run paused")
	p.WantText("ledger.txt", "begun\nended\n")
	p.Check(p.GoOn())
	p.WantText("ledger.txt", "begun\nended\nb\n")
}

// A stop ends what runs.
func TestStop(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	e := p.Start("name: demo\nsteps: [{id: a, run: '" + held + "'}]\n")
	p.Until("the step has begun", func() bool { return p.Exists("begun") })
	p.Act(runs.Stop("enough"))
	p.WantKind(e.Wait(), pawl.KindAtGate, "run paused")
	if ends := enginetest.Payloads[pawl.AttemptEnded](p); len(ends) != 1 || ends[0].Outcome != pawl.Aborted || ends[0].Reason != pawl.ReasonAbort {
		t.Errorf("ends %+v", ends)
	}
	p.Write("go", "")
	p.Check(p.GoOn())
	p.WantText("ledger.txt", "begun\nbegun\nended\n")
}

// The first interrupt ends what runs, after a moment in which the second leaves it to its supervisor.
func TestInterrupts(t *testing.T) {
	t.Parallel()
	t.Run("once", func(t *testing.T) {
		t.Parallel()
		p := enginetest.New(t)
		var notices lines
		p.Config.Notice = notices.add
		e := p.Start("name: demo\nsteps: [{id: a, run: '" + held + "'}]\n")
		p.Until("the step has begun", func() bool { return p.Exists("begun") })
		e.Interrupt()
		p.WantKind(e.Wait(), pawl.KindInterrupted, "interrupted: a ended")
		if s := p.State(); s.Status != pawl.StatusStopped || len(s.Live()) > 0 {
			t.Errorf("status %s, live %v", s.Status, s.Live())
		}
		if want := "interrupted: a ends in 3s; press Ctrl-C again to leave it running in the background"; notices.text() != want {
			t.Errorf("notices %q, want %q", notices.text(), want)
		}
		p.Write("go", "")
		p.Check(p.GoOn())
		p.WantText("ledger.txt", "begun\nbegun\nended\n")
	})
	t.Run("once, and it ends", func(t *testing.T) {
		t.Parallel()
		p := enginetest.New(t)
		e := p.Start("name: demo\nsteps: [{id: a, run: '" + held + "'}, {id: b, run: echo b >> ledger.txt}]\n")
		p.UntilEvent("attempt.started", 1)
		p.Write("go", "")
		e.Interrupt()
		p.WantKind(e.Wait(), pawl.KindInterrupted, "interrupted")
		p.WantText("ledger.txt", "begun\nended\n")
		p.WantStatus(pawl.Done, "a")
	})
	t.Run("twice", func(t *testing.T) {
		t.Parallel()
		p := enginetest.New(t)
		e := p.Start("name: demo\nsteps: [{id: a, run: '" + held + "'}, {id: b, run: echo b >> ledger.txt}]\n")
		p.UntilEvent("attempt.started", 1)
		e.Leave()
		err := e.Wait()
		p.WantKind(err, pawl.KindInterrupted, "interrupted: a is still running in the background; pawl stop ends it, and pawl resume continues the run")
		if hint := pawl.HintOf(err); hint != "pawl output a -f" {
			t.Errorf("hint %q", hint)
		}
		p.Write("go", "")
		p.Check(p.GoOn())
		p.WantText("ledger.txt", "begun\nended\nb\n")
	})
}

// lines collects lines from several goroutines.
type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, line)
}

func (l *lines) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.all, "\n")
}

func TestRetryAndSkip(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	plan := `name: demo
steps:
  - {id: a, run: 'echo a >> ledger.txt; test -e fixed'}
  - {id: b, run: echo b >> ledger.txt}
`
	p.WantKind(p.Do(plan), pawl.KindRunFailed)
	p.Write("fixed", "")
	p.Act(runs.Retry("a", "fixed"))
	p.Check(p.GoOn())
	p.WantText("ledger.txt", "a\na\nb\n")

	q := enginetest.New(t)
	q.WantKind(q.Do(plan), pawl.KindRunFailed)
	q.Act(runs.Skip("a", nil, "not needed"))
	q.Check(q.GoOn())
	q.WantText("ledger.txt", "a\nb\n")
	q.WantStatus(pawl.Skipped, "a")
	q.WantKind(q.Try(runs.Skip("a", nil, "")), pawl.KindUsage, "step a is already finished")
}

// What is skipped while the engine runs is not started, and its gate is withdrawn.
func TestSkippedWhileRunning(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	e := p.Start(`name: demo
steps:
  - {id: slow, run: '` + held + `'}
  - {id: b, run: echo b >> ledger.txt}
  - {id: ask, needs: [], gate: {type: human_action, ask: Do it}}
`)
	p.UntilEvent("attempt.started", 1)
	p.UntilEvent("gate.opened", 1)
	p.WantKind(p.Try(runs.Skip("slow", nil, "")), pawl.KindHeld, "step slow is running")
	p.Act(runs.Skip("b", nil, "not needed"))
	p.Act(runs.Skip("ask", nil, "not needed"))
	p.Write("go", "")
	p.Check(e.Wait())
	p.WantText("ledger.txt", "begun\nended\n")
	if g := enginetest.Payloads[pawl.GateWithdrawn](p); len(g) != 1 || g[0].Why != "step ask was skipped" {
		t.Errorf("withdrawn gates %+v", g)
	}
}

// A blocker of a step holds that back, one of the run everything.
func TestBlockers(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	p.Create("name: demo\nsteps: [{id: a, run: echo a >> ledger.txt}, {id: b, needs: [], run: echo b >> ledger.txt}]\n")
	p.Act(runs.Block(pawl.Blocker{Text: "no key", Step: "a"}))
	p.WantKind(p.GoOn(), pawl.KindAtGate, "run is blocked: no key")
	p.WantText("ledger.txt", "b\n")
	p.Act(runs.Block(pawl.Blocker{Text: "no disk"}))
	p.Act(runs.Unblock(1, "here it is"))
	p.WantKind(p.GoOn(), pawl.KindAtGate, "run is blocked: no disk")
	p.WantText("ledger.txt", "b\n")
	p.Act(runs.Unblock(2, "bought one"))
	p.Check(p.GoOn())
	p.WantText("ledger.txt", "b\na\n")
}

// A run of which only half was taken back is not carried on.
func TestHalfRolledBackRunIsRefused(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	p.Check(p.Do(undoPlan))
	p.Write("stuck", "")
	r := rollback(p, "one")
	p.WantKind(r.Do(t.Context()), pawl.KindAtGate)
	p.Check(r.Close())
	_, err := enginetest.Open(t.Context(), p.Config, p.Run)
	p.WantKind(err, pawl.KindDamaged, "run "+string(p.Run)+" has an unfinished rollback to checkpoint ")
}
