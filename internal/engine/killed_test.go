package engine_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/engine"
	"pawl/internal/engine/enginetest"
	"pawl/internal/journal"
	"pawl/internal/project"
	"pawl/internal/runs"
	"pawl/internal/supervise"
)

// mixedPlan has steps of every kind that needs no person. Each step and item writes a line to the ledger.
const mixedPlan = `name: demo
mode: autopilot
steps:
  - {id: make, run: echo make >> ledger.txt; echo one > one.txt, outputs: [one.txt], accept: {right: grep one one.txt}}
  - {id: flaky, run: 'echo flaky >> ledger.txt; test -e again || { touch again; exit 1; }', retry: {attempts: 2, backoff: 1ms}}
  - {id: each, parallel: 2, foreach: {items: [x, y]}, run: echo $PAWL_ITEM >> ledger.txt}
  - {id: look, gate: {type: human_verify, ask: Right?}, accept: {right: grep -c make ledger.txt}}
  - {id: use, inputs: [one.txt], run: echo use >> ledger.txt}
`

// The engine is killed at each event, once that is durable. The next engine does not rerun finished work and re-attaches to
// running attempts.
func TestKilledAtEachEvent(t *testing.T) {
	t.Parallel()
	whole := enginetest.New(t)
	whole.Check(whole.Do(mixedPlan))
	n := len(whole.Events()) - len([]string{"run.created", "run.planned"}) // which are there before an engine is
	for at := 1; at <= n; at++ {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			t.Parallel()
			p := enginetest.New(t)
			p.Create(mixedPlan)
			if !p.KilledAt("", at) && at < n/2 { // near the end the order may differ, and there be fewer events
				t.Error("the engine was not killed")
			}
			p.Check(p.GoOn())
			wantLines(p, "flaky flaky make use x y") // the attempt that was under way is taken up again, too
			p.WantStatus(pawl.Done, "make", "flaky", "each", "look", "use")
		})
	}
}

// An attempt whose supervisor was never started is retried at once and does not count as a failure.
func TestKilledBetweenIntentAndStart(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	p.Create("name: demo\nsteps: [{id: a, idempotent: false, run: echo a >> ledger.txt}]\n")
	if !p.KilledAt("attempt.started", 1) {
		t.Fatal("the engine was not killed")
	}
	p.Check(p.GoOn())
	p.WantText("ledger.txt", "a\n")
	if ends := enginetest.Payloads[pawl.AttemptEnded](p); len(ends) != 1 || ends[0].Outcome != pawl.NotStarted {
		t.Errorf("ends %+v", ends)
	}
}

// held is a step that runs until the test creates the file go.
const held = "echo begun >> ledger.txt; touch begun; until test -e go; do sleep 0.01; done; echo ended >> ledger.txt"

// killed creates a run of a plan and kills its engine while the first step, which is held, runs.
func killed(p *enginetest.Project, plan string) {
	p.Helper()
	p.Create(plan)
	gone := make(chan bool)
	go func() { gone <- p.KilledAt("step.progress", 1) }()
	p.Until("the step has begun", func() bool { return p.Exists("begun") })
	p.UntilEvent("attempt.started", 1)
	live := p.State().Live()[0]
	events := p.AttemptDir(live.AttemptRef, p.Run) + "/" + pawl.EventsFile
	p.Check(os.WriteFile(events, []byte(`{"progress":{"text":"half"}}`+"\n"), 0o600))
	if !<-gone {
		p.Fatal("the engine was not killed")
	}
}

// endsMeanwhile lets the held step end while there is no engine.
func endsMeanwhile(p *enginetest.Project) {
	p.Helper()
	live := p.State().Live()[0]
	p.Write("go", "")
	p.Check(supervise.Attach(p.AttemptDir(live.AttemptRef, p.Run)).Wait(p.Context()))
}

// An attempt outlives its engine. The next engine re-attaches to it and reads its events from where the first engine stopped.
func TestLiveAttemptIsTakenUpAgain(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	killed(p, "name: demo\nsteps: [{id: a, run: '"+held+"'}, {id: b, run: echo b >> ledger.txt}]\n")
	e := p.Resume()
	p.UntilEvent("engine.started", 2)
	p.Write("go", "")
	p.Check(e.Wait())
	p.WantText("ledger.txt", "begun\nended\nb\n")
	if said := enginetest.Payloads[pawl.Progressed](p); len(said) != 1 || said[0].Text != "half" {
		t.Errorf("read %d times: %+v", len(said), said)
	}
	if s := p.Step("a"); s.Attempts != 1 {
		t.Errorf("%d attempts", s.Attempts)
	}
}

// An attempt that ended while no engine was there is settled from its record.
func TestAttemptThatEndedMeanwhile(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	killed(p, "name: demo\nsteps: [{id: a, run: '"+held+"'}]\n")
	endsMeanwhile(p)
	p.Check(p.GoOn())
	p.WantText("ledger.txt", "begun\nended\n")
	events := p.Events()
	for i, e := range events { // the findings share the sync of the start
		if e.Type == "run.examined" && (events[i+1].Type != "engine.started" || events[i+1].Batch != e.Batch || events[i+1].Epoch != e.Epoch) {
			t.Errorf("%s of batch %d and epoch %d, then %s of %d and %d", e.Type, e.Batch, e.Epoch, events[i+1].Type, events[i+1].Batch, events[i+1].Epoch)
		}
	}
	if p.Count("run.examined") == 0 {
		t.Error("no findings")
	}
}

// saysDone has a step write in its result that it is done.
const saysDone = `echo "{\"status\":\"done\"}" > $PAWL_RESULT`

// loseAttempt kills the supervisor of the only live attempt.
func loseAttempt(p *enginetest.Project) {
	p.Helper()
	dir := p.AttemptDir(p.State().Live()[0].AttemptRef, p.Run)
	p.Check(supervise.Kill(dir))
	p.Check(supervise.Attach(dir).Wait(p.Context()))
}

// An attempt whose supervisor was lost is run again where that does no harm; else a person is asked.
func TestLostAttempts(t *testing.T) {
	t.Parallel()
	t.Run("may be repeated", func(t *testing.T) {
		t.Parallel()
		p := enginetest.New(t)
		killed(p, "name: demo\nsteps: [{id: a, run: '"+held+"'}]\n")
		loseAttempt(p)
		p.Write("go", "")
		p.Check(p.GoOn())
		p.WantText("ledger.txt", "begun\nbegun\nended\n")
		if p.Count("checkpoint.saved") != 1 {
			t.Errorf("no emergency checkpoint: %v", p.Story())
		}
	})
	t.Run("must not be repeated", func(t *testing.T) {
		t.Parallel()
		p := enginetest.New(t)
		killed(p, "name: demo\nsteps: [{id: a, idempotent: false, run: '"+held+"'}]\n")
		loseAttempt(p)
		p.Write("go", "")
		p.WantKind(p.GoOn(), pawl.KindAtGate, "is not idempotent")
		p.WantText("ledger.txt", "begun\n")
		p.Act(runs.Approve(p.Gate().ID, "it had done nothing"))
		p.Check(p.GoOn())
		p.WantText("ledger.txt", "begun\nbegun\nended\n")
	})
	t.Run("must not be repeated, and is not", func(t *testing.T) {
		t.Parallel()
		p := enginetest.New(t)
		killed(p, "name: demo\nsteps: [{id: a, idempotent: false, run: '"+held+"'}]\n")
		loseAttempt(p)
		p.WantKind(p.GoOn(), pawl.KindAtGate)
		p.Act(runs.Reject(p.Gate().ID, "it was sent", false))
		p.WantKind(p.GoOn(), pawl.KindRunFailed, "run failed: step a failed: a person rejected gate")
		p.WantText("ledger.txt", "begun\n")
	})
	t.Run("its result and its outputs prove it done", func(t *testing.T) {
		t.Parallel()
		p := enginetest.New(t)
		killed(p, "name: demo\nsteps: [{id: a, idempotent: false, outputs: [a.txt], accept: {right: grep right a.txt}, "+
			"run: 'echo right > a.txt; "+saysDone+"; "+held+"'}]\n")
		loseAttempt(p)
		p.Check(p.GoOn())
		p.WantText("ledger.txt", "begun\n")
		if d := enginetest.Payloads[pawl.StepDone](p); len(d) != 1 || d[0].Adopted == "" || d[0].Verdict == nil {
			t.Errorf("done %+v", d)
		}
	})
}

// Only one engine at a time works in a project, whatever its run.
func TestSecondEngineIsRefused(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	e := p.Start("name: demo\nsteps: [{id: a, run: '" + held + "'}]\n")
	if _, err := enginetest.Open(t.Context(), p.Config, p.Run); pawl.KindOf(err) != pawl.KindHeld {
		t.Errorf("a second engine: %v", err)
	}
	_, err := engine.OpenNew(t.Context(), p.Config, runs.CreateOptions{Plan: &pawl.Plan{Name: "other"}})
	p.WantKind(err, pawl.KindHeld)
	if all, _ := runs.List(p.Project); len(all) != 1 {
		t.Errorf("runs %v: one was made for an engine that was refused", all)
	}
	p.Write("go", "")
	p.Check(e.Wait())
}

// An engine stops once a newer engine has raised the epoch, and names it. One on the same files has re-attached its attempts.
func TestOlderEngineIsFenced(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	e := p.Start("name: demo\nsteps: [{id: a, run: '" + held + "'}, {id: b, run: echo b >> ledger.txt}]\n")
	p.UntilEvent("attempt.started", 1)
	log, err := journal.Open(p.Runs(), p.Run)
	p.Check(err)
	defer log.Close()
	newer, err := pawl.NewEvent(pawl.Author{Kind: pawl.ByEngine}, pawl.EngineStarted{Epoch: 2, PID: 1, Host: "other", Why: "test"})
	p.Check(err)
	_, err = log.Append(t.Context(), 2, newer)
	p.Check(err)
	if err := e.Wait(); !errors.Is(err, pawl.ErrFenced) || !strings.Contains(err.Error(), "another engine: pid 1 on host other, since ") {
		t.Errorf("the older engine stopped with %v", err)
	}
	p.Write("go", "")
	p.WantStatus(pawl.Running, "a")
	p.Check(p.GoOn())
	p.WantText("ledger.txt", "begun\nended\nb\n")
}

func TestRunsThatAnEngineDoesNotCarryOn(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	if _, err := enginetest.Open(t.Context(), p.Config, "no-such-run"); err == nil {
		t.Error("a run that is not there was opened")
	}
	p.Check(runs.Claim(p.Project, "talk-20260101-000000-0000", nil))
	log, err := journal.Create(p.Runs(), "talk-20260101-000000-0000")
	p.Check(err)
	created, err := pawl.NewEvent(pawl.Author{Kind: pawl.ByHook}, pawl.RunCreated{
		Format: pawl.Format, Run: "talk-20260101-000000-0000", Project: p.ID, Kind: pawl.SessionRun, Name: "talk",
	})
	p.Check(err)
	_, err = log.Append(t.Context(), 0, created)
	p.Check(errors.Join(err, log.Close()))
	_, err = enginetest.Open(t.Context(), p.Config, "talk-20260101-000000-0000")
	p.WantKind(err, pawl.KindUsage, "is a session without a plan")
	if _, alive := p.EngineHolder(); alive {
		t.Error("a refused engine keeps the project")
	}
}

// An exit record proves nothing for an attempt that has another token.
func TestRecordOfAnotherAttemptIsNotBelieved(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	killed(p, "name: demo\nsteps: [{id: a, run: '"+held+"'}]\n")
	dir := p.AttemptDir(p.State().Live()[0].AttemptRef, p.Run)
	loseAttempt(p)
	record, err := json.Marshal(pawl.Exit{Token: "of-another", Exit: new(int), Reason: pawl.ReasonExited})
	p.Check(err)
	p.Check(os.WriteFile(filepath.Join(dir, pawl.ExitFile), record, 0o600))
	p.Write("go", "")
	p.Check(p.GoOn())
	p.WantText("ledger.txt", "begun\nbegun\nended\n")
}

// An attempt of which somebody else has said that it ended is not settled again: only the newest attempt finishes a step.
func TestEndedAttemptFinishesNothing(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	p.Config.Parallel = 2
	e := p.Start("name: demo\nsteps: [{id: a, run: 'echo begun $PAWL_ATTEMPT >> ledger.txt; until test -e go$PAWL_ATTEMPT; do sleep 0.01; done'}]\n")
	p.UntilEvent("attempt.started", 1)
	first := p.State().Live()[0].AttemptRef
	p.Act(func(*project.Project, *runs.Run) ([]pawl.Payload, error) {
		return []pawl.Payload{pawl.AttemptEnded{AttemptRef: first, Outcome: pawl.Aborted, Reason: pawl.ReasonAbort, Why: "test"}}, nil
	})
	p.UntilEvent("attempt.started", 2)
	p.Write("go1", "")
	p.Check(supervise.Attach(p.AttemptDir(first, p.Run)).Wait(t.Context()))
	p.Write("go2", "")
	p.Check(e.Wait())
	if d := enginetest.Payloads[pawl.StepDone](p); len(d) != 1 || d[0].Attempt != 2 || d[0].Token == first.Token {
		t.Errorf("done %+v", d)
	}
}
