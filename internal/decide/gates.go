package decide

import (
	"fmt"
	"time"

	"pawl"
)

// gates answers gates by mode, expires overdue gates, and acts on new answers.
func (d *decider) gates() {
	for i := range d.state.Gates {
		g := &d.state.Gates[i]
		switch {
		case g.Open():
			d.openGate(g)
		case !g.Settled && g.Withdrawn == "":
			d.closedGate(g)
		case g.Purpose == pawl.ForImported:
			d.askAgain(g)
		}
	}
}

func (d *decider) openGate(g *pawl.GateState) {
	if reply, ok := d.automatic(g); ok {
		d.add(Action{Kind: AnswerGate, Gate: g.Gate, Reply: reply})
		return
	}
	if g.Expires.IsZero() {
		return
	}
	if d.now.Before(g.Expires) {
		d.expiry = earlier(d.expiry, g.Expires)
		return
	}
	if g.Default != "" {
		d.add(Action{Kind: AnswerGate, Gate: g.Gate, Reply: pawl.GateAnswered{Answer: pawl.Chosen, Option: g.Default, Why: "expired", Auto: true}})
		return
	}
	d.add(Action{Kind: Expire, Gate: g.Gate})
}

// automatic returns autopilot's answer. It approves a human_verify gate whose checks pass and takes the default of a
// decision. Everything else waits for a person.
func (d *decider) automatic(g *pawl.GateState) (pawl.GateAnswered, bool) {
	if d.state.Mode != pawl.Autopilot || g.Purpose != "" {
		return pawl.GateAnswered{}, false
	}
	switch {
	case g.Type == pawl.HumanVerify && len(g.Checks) > 0 && pawl.Passed(g.Checks):
		return pawl.GateAnswered{Answer: pawl.Approved, Why: "autopilot: all checks pass", Auto: true}, true
	case g.Type == pawl.DecisionFor && g.Default != "":
		return pawl.GateAnswered{Answer: pawl.Chosen, Option: g.Default, Why: "autopilot chose the default", Auto: true}, true
	}
	return pawl.GateAnswered{}, false
}

func (d *decider) closedGate(g *pawl.GateState) {
	step := d.plan.ByID[g.Step]
	switch {
	case g.Expired:
		d.giveUpGate(g, step, fmt.Sprintf("its gate expired without an answer: %q", g.Ask))
	case g.Answer.Answer == pawl.Refused:
		d.giveUpGate(g, step, g.RejectionText())
	case step == nil:
		// a gate of the run or of a person; the state has the answer
	case g.Purpose == pawl.ForImported:
		if g.Answer.Answer == pawl.Rejected && len(d.state.Steps[step.ID].Live()) == 0 {
			d.add(Action{Kind: Reopen, Steps: []pawl.StepID{step.ID}, Why: g.Answer.Why})
		}
	case step.Gate != nil && g.Purpose == "":
		d.gateStep(g, step)
	case g.Answer.Answer == pawl.Rejected && g.Purpose != "":
		d.add(Action{Kind: GiveUp, Step: step, Index: -1, Why: g.RejectionText(), Refused: true})
	}
}

// askAgain reopens an imported gate after the rejected step is done again.
func (d *decider) askAgain(g *pawl.GateState) {
	step, st := d.plan.ByID[g.Step], d.state.Steps[g.Step]
	if step == nil || st == nil || st.Status != pawl.Done || g.Answer == nil || g.Answer.Answer != pawl.Rejected || d.state.Gate(g.ID) != g {
		return
	}
	again := g.Gate
	again.Opened, again.Expires = time.Time{}, time.Time{}
	d.add(Action{Kind: Open, Step: step, Index: -1, Gate: again})
}

func (d *decider) giveUpGate(g *pawl.GateState, step *pawl.Step, why string) {
	if step != nil && !d.state.Steps[step.ID].Finished() && len(d.state.Steps[step.ID].Live()) == 0 {
		d.add(Action{Kind: GiveUp, Step: step, Index: -1, Why: why, Refused: true})
	} else if step == nil && d.slotsUsed() == 0 {
		d.ending = true
		d.endWith(Action{Kind: FailRun, Why: why})
	}
}

// failsRun reports whether the answer to a gate without a step in the plan fails the run, once nothing is live.
func (d *decider) failsRun(g *pawl.GateState) bool {
	refused := g.Expired || g.Answer != nil && g.Answer.Answer == pawl.Refused
	return refused && !g.Settled && g.Withdrawn == "" && d.plan.ByID[g.Step] == nil
}

func (d *decider) gateStep(g *pawl.GateState, step *pawl.Step) {
	if d.state.Steps[step.ID].Finished() {
		return
	}
	if g.Answer.Answer != pawl.Rejected {
		d.add(Action{Kind: Finish, Step: step, Index: -1, Gate: g.Gate})
		return
	}
	again := append(d.covered(d.plan.Needs[step.ID]), step.ID)
	d.add(Action{Kind: Reopen, Steps: again, Why: g.Answer.Why})
}

// budget asks once for each exhausted budget.
func (d *decider) budget() {
	b, spent := d.plan.Budget, d.state.Spent
	for _, use := range []struct {
		name        string
		used, limit float64
		show        func(float64) string
	}{
		{"time", spent.Seconds, time.Duration(b.Time).Seconds(), func(v float64) string {
			return time.Duration(v * float64(time.Second)).Round(time.Second).String()
		}},
		{"usd", spent.Usage.USD, b.USD, func(v float64) string { return fmt.Sprintf("$%.2f", v) }},
		{"tokens", float64(spent.Usage.Tokens), float64(b.Tokens), func(v float64) string { return fmt.Sprintf("%.0f", v) }},
	} {
		allowed := use.limit * float64(1+spent.Granted[use.name])
		if use.limit > 0 && use.used >= allowed && !d.asking[question{purpose: pawl.ForBudget, budget: use.name}] {
			ask := fmt.Sprintf("The %s budget is used up (%s of %s). Continue with %s more?", use.name, use.show(use.used), use.show(allowed), use.show(use.limit))
			d.add(Action{Kind: Spend, Why: use.show(use.used), Gate: pawl.Gate{Type: pawl.HumanVerify, Purpose: pawl.ForBudget, Budget: use.name, Ask: ask}})
		}
	}
}

// mayStart reports whether any new attempt may start.
func (d *decider) mayStart() bool {
	for i := range d.state.Gates {
		g := &d.state.Gates[i]
		if g.Halts() && (g.Open() || g.Answer != nil && g.Answer.Answer != pawl.Approved) || d.failsRun(g) {
			return false
		}
	}
	return !d.blocked[""]
}
