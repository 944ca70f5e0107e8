package engine_test

import (
	"slices"
	"testing"
	"time"

	"pawl"
	"pawl/internal/engine"
	"pawl/internal/engine/enginetest"
	"pawl/internal/runs"
)

// An attempt that exceeds a limit is ended with all that it started, tried again, and gets an emergency checkpoint.
func TestLimits(t *testing.T) {
	t.Parallel()
	const noisy = `while :; do echo noise; sleep 0.02; done`
	const busy = `while :; do echo "{\"progress\":{\"text\":\"on it\"}}" >> $PAWL_EVENTS; sleep 0.02; done`
	for name, c := range map[string]struct {
		step   string
		reason pawl.EndReason
	}{
		"timeout":        {`timeout: 300ms, grace: 0s, run: '` + noisy + `'`, pawl.ReasonTimeout},
		"grace runs out": {`timeout: 200ms, grace: 200ms, run: '` + busy + `'`, pawl.ReasonTimeout},
		"stall":          {`stall: 300ms, run: 'sleep 100'`, pawl.ReasonStalled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := enginetest.New(t)
			p.WantKind(p.Do("name: demo\nsteps:\n  - {id: a, "+c.step+"}\n"), pawl.KindRunFailed)
			ends := enginetest.Payloads[pawl.AttemptEnded](p)
			if len(ends) != 1 || ends[0].Reason != c.reason || ends[0].Stats == nil || ends[0].Stats.Seconds <= 0 {
				t.Errorf("ends %+v", ends)
			}
			if saved := enginetest.Payloads[pawl.CheckpointSaved](p); len(saved) != 1 || saved[0].Checkpoint.Kind != pawl.CheckpointEmergency {
				t.Errorf("checkpoints %+v", saved)
			}
		})
	}
}

// A step that makes progress may use its grace.
func TestGrace(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	p.Check(p.Do(`name: demo
steps:
  - {id: a, timeout: 200ms, grace: 1m, run: 'echo "{\"progress\":{\"text\":\"on it\"}}" >> $PAWL_EVENTS; sleep 0.5; touch late.txt'}
`))
	if !p.Exists("late.txt") {
		t.Error("the step was cut off")
	}
}

// Each budget is asked about once it is used up; a person grants another, or ends the run.
func TestBudget(t *testing.T) {
	t.Parallel()
	const spend = `echo "{\"status\":\"done\",\"usage\":{\"usd\":2,\"tokens\":50}}" > $PAWL_RESULT; echo $PAWL_STEP >> ledger.txt; sleep 0.05`
	for name, c := range map[string]struct{ budget, ask string }{
		"usd":    {"usd: 1.5", "The usd budget is used up ($2.00 of $1.50). Continue with $1.50 more?"},
		"tokens": {"tokens: 40", "The tokens budget is used up (50 of 40). Continue with 40 more?"},
		"time":   {"time: 10ms", "The time budget is used up"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := enginetest.New(t)
			plan := "name: demo\nbudget: {" + c.budget + "}\nsteps:\n  - {id: a, run: '" + spend + "'}\n  - {id: b, run: echo b >> ledger.txt}\n"
			p.WantKind(p.Do(plan), pawl.KindAtGate, c.ask)
			p.WantText("ledger.txt", "a\n")
			p.WantKind(p.GoOn(), pawl.KindAtGate, c.ask)
			p.WantText("ledger.txt", "a\n")
			if name == "time" { // another 10ms may be too little
				p.Act(runs.Reject(p.Gate().ID, "enough", false))
				p.WantKind(p.GoOn(), pawl.KindRunFailed, "the time budget was not raised")
				return
			}
			p.Act(runs.Approve(p.Gate().ID, ""))
			p.Check(p.GoOn())
			p.WantText("ledger.txt", "a\nb\n")
			if p.Count("budget.spent") != 1 {
				t.Error("it was asked about twice")
			}
		})
	}
}

// While an attempt runs, what the watchdog sees of it is journaled.
func TestHeartbeats(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	p.Config.Watchdog = engine.Watchdog{Heartbeat: 20 * time.Millisecond, Warning: time.Minute, Stalled: time.Hour}
	e := p.Start("name: demo\nsteps: [{id: a, run: '" + held + "'}]\n")
	healthy := func(h pawl.Heartbeat) bool { return h.Step == "a" && h.Health == "ok" }
	p.Until("a heartbeat", func() bool { return slices.ContainsFunc(enginetest.Payloads[pawl.Heartbeat](p), healthy) })
	p.Write("go", "")
	p.Check(e.Wait())
}

// A supervisor that gives no sign of life any more is killed with what it supervises, and the step is tried again.
func TestStuckSupervisorIsKilled(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	p.Config.Watchdog = engine.Watchdog{Heartbeat: 50 * time.Millisecond, Warning: time.Second, Stalled: 2 * time.Second}
	e := p.Start("name: demo\nsteps: [{id: a, run: '" + held + "'}]\n")
	p.Until("the step has begun", func() bool { return p.Exists("begun") })
	live := p.State().Live()[0]
	stop(p, p.AttemptDir(live.AttemptRef, p.Run))
	p.UntilEvent("attempt.ended", 1)
	p.Write("go", "")
	p.Check(e.Wait())
	p.WantText("ledger.txt", "begun\nbegun\nended\n")
	if acted := enginetest.Payloads[pawl.WatchdogActed](p); len(acted) == 0 || acted[0].Action != "kill" {
		t.Errorf("the watchdog did %+v", acted)
	}
	if ends := enginetest.Payloads[pawl.AttemptEnded](p); len(ends) != 1 || ends[0].Outcome != pawl.Lost {
		t.Errorf("ends %+v", ends)
	}
}
