package engine_test

import (
	"fmt"
	"testing"
	"time"

	"pawl"
	"pawl/internal/engine/enginetest"
	"pawl/internal/runs"
)

// gatePlan has a step, a gate behind it, and a step behind that.
func gatePlan(mode, gate string) string {
	return fmt.Sprintf(`name: demo
mode: %s
steps:
  - {id: make, run: echo made >> made.txt, outputs: [made.txt]}
  - {id: look, %s}
  - {id: use, run: cat made.txt > used.txt}
`, mode, gate)
}

const (
	verifyGate   = `gate: {type: human_verify, ask: Is it right?, expect: made}`
	checkedGate  = `gate: {type: human_verify, ask: Is it right?}, accept: {right: grep made made.txt}`
	failingGate  = `gate: {type: human_verify, ask: Is it right?}, accept: {right: "echo wrong; false"}`
	decisionGate = `gate: {type: decision, ask: Where to?, options: [staging, live], default: staging}`
	openDecision = `gate: {type: decision, ask: Where to?, options: [staging, live]}`
	actionGate   = `gate: {type: human_action, ask: Plug it in}`
)

// Which gates a person is asked at, by mode.
func TestGatesInEachMode(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mode, gate string
		asks       bool
	}{
		"guided verify":       {"guided", verifyGate, true},
		"guided checked":      {"guided", checkedGate, true},
		"guided decision":     {"guided", decisionGate, true},
		"guided action":       {"guided", actionGate, true},
		"autopilot verify":    {"autopilot", verifyGate, true},
		"autopilot checked":   {"autopilot", checkedGate, false},
		"autopilot unmet":     {"autopilot", failingGate, true},
		"autopilot decision":  {"autopilot", decisionGate, false},
		"autopilot undecided": {"autopilot", openDecision, true},
		"autopilot action":    {"autopilot", actionGate, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := enginetest.New(t)
			err := p.Do(gatePlan(c.mode, c.gate))
			if !c.asks {
				p.Check(err)
				if a := enginetest.Payloads[pawl.GateAnswered](p); len(a) != 1 || !a[0].Auto {
					t.Errorf("answers %+v", a)
				}
				return
			}
			p.WantKind(err, pawl.KindAtGate, "waiting for gate "+string(p.Gate().ID)+": "+p.Gate().Ask)
			if p.Exists("used.txt") {
				t.Error("the step behind the gate ran")
			}
			answer(p)
			p.Check(p.GoOn())
			p.WantStatus(pawl.Done, "make", "look", "use")
			p.WantText("made.txt", "made\n")
		})
	}
}

// answer answers an open gate such that the run continues.
func answer(p *enginetest.Project) {
	p.Helper()
	if g := p.Gate(); g.Type == pawl.DecisionFor {
		p.Act(runs.Choose(g.ID, "live", "it is ready"))
	} else {
		p.Act(runs.Approve(g.ID, "good"))
	}
}

func TestHandsOnAsksBeforeEachStep(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	plan := "name: demo\nmode: hands_on\nsteps:\n  - {id: one, goal: All good, run: echo one >> ledger.txt}\n  - {id: two, run: echo two >> ledger.txt}\n"
	p.WantKind(p.Do(plan), pawl.KindAtGate, "Start step one?")
	if g := p.Gate(); g.Purpose != pawl.ForStart || g.Expect != "All good" {
		t.Errorf("gate %+v", g)
	}
	p.WantText("ledger.txt", "")
	p.Act(runs.Approve(p.Gate().ID, ""))
	p.WantKind(p.GoOn(), pawl.KindAtGate, "Start step two?")
	p.WantText("ledger.txt", "one\n")
	p.Act(runs.Reject(p.Gate().ID, "not today", false))
	p.WantKind(p.GoOn(), pawl.KindRunFailed, "run failed: step two failed: a person rejected gate")
	p.WantText("ledger.txt", "one\n")
}

// A person who rejects has what the gate shows done again, told why; with stop the run fails.
func TestReject(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	plan := `name: demo
steps:
  - {id: make, run: 'echo "$PAWL_RESUME" > told.txt; echo made >> made.txt', outputs: [made.txt]}
  - {id: look, gate: {type: human_verify, ask: Is it right?}}
`
	p.WantKind(p.Do(plan), pawl.KindAtGate)
	p.Act(runs.Reject(p.Gate().ID, "too short", false))
	p.WantKind(p.GoOn(), pawl.KindAtGate)
	p.WantText("made.txt", "made\nmade\n")
	if told := p.Text("told.txt"); !contains(told, `"too short"`) {
		t.Errorf("the step is told %s", told)
	}
	p.Act(runs.Reject(p.Gate().ID, "hopeless", true))
	p.WantKind(p.GoOn(), pawl.KindRunFailed, `a person rejected gate `, `for good: "hopeless"`)
	p.WantStatus(pawl.FailedForGood, "look")
}

// A waiting engine acts on answers at once.
func TestAnswersFromOutsideWhileRunning(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	e := p.Start(`name: demo
steps:
  - {id: ask, needs: [], gate: {type: decision, ask: Where to?, options: [staging, live]}}
  - {id: slow, needs: [], run: "until test -e go; do sleep 0.01; done"}
`)
	p.UntilEvent("gate.opened", 1)
	p.UntilEvent("attempt.started", 1)
	p.Act(runs.Choose(p.Gate().ID, "live", "ready"))
	p.UntilEvent("step.done", 1)
	p.Write("go", "")
	p.Check(e.Wait())
	if d := enginetest.Payloads[pawl.DecisionMade](p); len(d) != 1 || d[0].Decision.Choice != "live" {
		t.Errorf("decisions %+v", d)
	}
}

func TestExpiry(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		gate  string
		fails bool
	}{
		"default":    {`{type: decision, ask: Where to?, options: [staging, live], default: live, expires: 50ms}`, false},
		"no default": {`{type: human_verify, ask: Is it right?, expires: 50ms}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := enginetest.New(t)
			err := p.Do("name: demo\nsteps:\n  - {id: ask, gate: " + c.gate + "}\n")
			for pawl.KindOf(err) == pawl.KindAtGate { // it is not expired yet
				p.Until("the gate is due", func() bool { return !time.Now().Before(p.Gate().Expires) })
				err = p.GoOn()
			}
			if c.fails {
				p.WantKind(err, pawl.KindRunFailed, "its gate expired")
				return
			}
			p.Check(err)
			if a := enginetest.Payloads[pawl.GateAnswered](p); len(a) != 1 || a[0].Option != "live" || a[0].Why != "expired" {
				t.Errorf("answers %+v", a)
			}
		})
	}
}

// An engine that has work under way expires a gate when its time comes.
func TestExpiryMeanwhile(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	e := p.Start(`name: demo
steps:
  - {id: ask, needs: [], gate: {type: human_verify, ask: Is it right?, expires: 20ms}}
  - {id: slow, needs: [], run: "until test -e go; do sleep 0.01; done"}
`)
	p.UntilEvent("gate.expired", 1)
	p.UntilEvent("step.failed", 1)
	p.Write("go", "")
	p.WantKind(e.Wait(), pawl.KindRunFailed, "its gate expired")
	p.WantStatus(pawl.Done, "slow")
}

// What a gate asks is the plan's: an edited question takes the old one's place, and so does none.
func TestGatesAreWithdrawnWhenThePlanIsEdited(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	p.WantKind(p.Do(gatePlan("guided", verifyGate)), pawl.KindAtGate)
	first := p.Gate()
	p.Write("plan.yaml", gatePlan("guided", `gate: {type: human_verify, ask: Is it quite right?}`))
	p.WantKind(p.GoOn(), pawl.KindAtGate, "Is it quite right?")
	if g := p.State().Gate(first.ID); g.Withdrawn != "its step was edited" {
		t.Errorf("the old gate: %+v", g)
	}
	second := p.Gate()
	p.WantKind(p.Try(runs.Approve(first.ID, "")), pawl.KindUsage, "gate "+string(first.ID)+" is closed: its step was edited")
	p.Write("plan.yaml", "name: demo\nsteps:\n  - {id: make, run: echo made >> made.txt, outputs: [made.txt]}\n  - {id: use, run: cat made.txt > used.txt}\n")
	p.Check(p.GoOn())
	if g := p.State().Gate(second.ID); g.Withdrawn != "its step was removed from the plan" {
		t.Errorf("the second gate: %+v", g)
	}
	p.WantText("used.txt", "made\n")
}

// A person sees what they approve: when that has changed meanwhile, they are asked again.
func TestApprovedIsWhatWasShown(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	p.WantKind(p.Do(gatePlan("guided", verifyGate)), pawl.KindAtGate)
	p.Write("made.txt", "something else")
	g := p.Gate()
	p.WantKind(p.Try(runs.Approve(g.ID, "")), pawl.KindUsage, "gate "+string(g.ID)+": its content has changed: made.txt")
	p.WantKind(p.GoOn(), pawl.KindAtGate)
	p.Act(runs.Approve(p.Gate().ID, ""))
	p.Check(p.GoOn())
}

// A gate shows what the steps that it needs made, a work list's items as one.
func TestGateShowsItems(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	p.WantKind(p.Do(`name: demo
steps:
  - {id: each, foreach: {items: [a, b]}, run: echo $PAWL_ITEM > $PAWL_ITEM.txt, outputs: [$PAWL_ITEM.txt]}
  - {id: look, gate: {type: human_verify, ask: Right?}}
`), pawl.KindAtGate)
	g := p.Gate()
	if g.Shown["each/*"].Files != 2 {
		t.Errorf("shown %+v", g.Shown)
	}
	p.Write("a.txt", "changed")
	p.WantKind(p.Try(runs.Approve(g.ID, "")), pawl.KindUsage, "gate "+string(g.ID)+": its content has changed: each/*")
}

// A step whose reviewers give it too little is done again.
func TestReviews(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	plan := "name: demo\nsteps:\n  - {id: make, run: echo made >> made.txt, review: {ann: 80}}\n  - {id: use, run: touch used.txt}\n"
	p.WantKind(p.Do(plan), pawl.KindAtGate, "step make waits for review by ann")
	p.Act(runs.Review("make", "ann", 50, "too short"))
	p.WantKind(p.GoOn(), pawl.KindAtGate, "step make waits for review by ann")
	p.WantText("made.txt", "made\nmade\n")
	if r := enginetest.Payloads[pawl.StepReopened](p); len(r) != 1 || r[0].Why != `ann scored it 50, minimum 80: "too short"` {
		t.Errorf("reopened %+v", r)
	}
	p.Act(runs.Review("make", "ann", 80, ""))
	p.Check(p.GoOn())
}
