package decide

import (
	"testing"

	"pawl"
	"pawl/internal/runs"
)

const twoSteps = "name: p\nsteps:\n  - {id: a, run: ':'}\n  - {id: b, run: ':'}\n"

// imported is a gate that another system had open over a step that was done there.
func imported(step pawl.StepID) pawl.Gate {
	g := pawl.Gate{Step: step, Type: pawl.HumanVerify, Purpose: pawl.ForImported, Ask: "Is it good?"}
	g.ID = g.Identify()
	return g
}

// TestNextWaitsForWhatAnotherSystemAsked: a step that is done is not built upon, and ends no run, while it is asked about.
func TestNextWaitsForWhatAnotherSystemAsked(t *testing.T) {
	w := newWorld(t, twoSteps)
	a, b := imported("a"), imported("b")
	w.done("a")
	w.say(pawl.GateOpened{Gate: a})
	w.want(8, "")
	w.say(pawl.GateAnswered{Gate: a.ID, Answer: pawl.Approved})
	w.want(8, "start b")
	w.done("b")
	w.say(pawl.GateOpened{Gate: b})
	w.want(8, "")
	w.say(pawl.GateAnswered{Gate: b.ID, Answer: pawl.Approved})
	w.want(8, "complete")
}

// TestNextAsksAgainWhatWasRejected: what another system asked about is done again and asked again, until it is approved.
func TestNextAsksAgainWhatWasRejected(t *testing.T) {
	w := newWorld(t, twoSteps)
	gate := imported("a")
	w.done("a")
	w.say(pawl.GateOpened{Gate: gate})
	for range 2 {
		w.say(pawl.GateAnswered{Gate: gate.ID, Answer: pawl.Rejected, Why: "typo"})
		w.want(8, "reopen [a]")
		w.say(pawl.StepReopened{Step: "a", Why: "typo"})
		w.want(8, "start a")
		w.done("a")
		w.want(8, "open a")
		again := Next(runs.NewOutline(w.plan), w.state, w.now, 8)[0].Gate
		if again.Identify() != gate.ID || again.Purpose != pawl.ForImported {
			t.Fatalf("another gate: %+v", again)
		}
		again.ID = gate.ID
		w.say(pawl.GateOpened{Gate: again})
		w.want(8, "")
	}
	w.say(pawl.GateAnswered{Gate: gate.ID, Answer: pawl.Approved})
	w.want(8, "start b")
}

// TestNextAsksBeforeItGoesOnFromWhatWasRebuilt: nothing is started, nor ended, before a person says that it is right.
func TestNextAsksBeforeItGoesOnFromWhatWasRebuilt(t *testing.T) {
	for _, tt := range []struct {
		answer     pawl.Answer
		left, none string // with work left, and with none
	}{{"", "", ""}, {pawl.Approved, "start b", "complete"}, {pawl.Rejected, "fail", "fail"}, {pawl.Refused, "fail", "fail"}} {
		w := newWorld(t, twoSteps)
		gate := pawl.Gate{Type: pawl.HumanVerify, Purpose: pawl.ForRebuilt, Ask: "Go on from there?"}
		gate.ID = gate.Identify()
		w.done("a")
		w.say(pawl.GateOpened{Gate: gate})
		if tt.answer != "" {
			w.say(pawl.GateAnswered{Gate: gate.ID, Answer: tt.answer, Why: "no"})
		}
		w.want(8, tt.left)
		w.say(pawl.StepSkipped{Step: "b"})
		w.want(8, tt.none)
	}
}
