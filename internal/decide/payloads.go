package decide

import (
	"pawl"
	"pawl/internal/runs"
)

// Payloads returns the events of an action that only journals: it starts nothing and reads no file. For other kinds it
// returns nil.
func (a Action) Payloads(s *pawl.State) []pawl.Payload {
	switch a.Kind {
	case GiveUp:
		failed := pawl.StepFailed{Step: a.Step.ID, Why: a.Why, Continued: a.Step.ContinueOnError && !a.Refused}
		return append([]pawl.Payload{failed}, runs.WithdrawGates(s, a.Step.ID, "ended")...)
	case SkipStep:
		skipped := pawl.StepSkipped{Step: a.Step.ID, Why: pawl.ConditionFalse(a.Condition), Condition: a.Condition}
		return append(runs.WithdrawGates(s, a.Step.ID, "was skipped"), skipped)
	case AnswerGate:
		return a.answer()
	case Expire:
		return []pawl.Payload{pawl.GateExpired{Gate: a.Gate.ID}}
	case Reopen:
		var all []pawl.Payload
		for _, id := range a.Steps {
			all = append(all, pawl.StepReopened{Step: id, Why: a.Why})
		}
		return all
	case Spend:
		a.Gate.ID = a.Gate.Identify()
		return []pawl.Payload{pawl.BudgetSpent{Budget: a.Gate.Budget, Used: a.Why, Limit: a.Gate.Ask}, pawl.GateOpened{Gate: a.Gate}}
	case Complete:
		return []pawl.Payload{pawl.RunEnded{Status: pawl.StatusCompleted, Why: a.Why, Handler: a.handler()}}
	case FailRun:
		return []pawl.Payload{pawl.RunEnded{Status: pawl.StatusFailed, Why: a.Why, Handler: a.handler()}}
	}
	return nil
}

// handler returns the handler that ran before the run ends, "" for none.
func (a Action) handler() pawl.StepID {
	if a.Step == nil {
		return ""
	}
	return a.Step.ID
}

// answer returns the events of an answer that no person gave.
func (a Action) answer() []pawl.Payload {
	reply := a.Reply
	reply.Gate, reply.Step = a.Gate.ID, a.Gate.Step
	if reply.Answer != pawl.Chosen {
		return []pawl.Payload{reply}
	}
	return []pawl.Payload{reply, pawl.DecisionMade{Decision: pawl.Decision{
		Question: a.Gate.Ask, Options: a.Gate.Options, Choice: reply.Option, Why: reply.Why, By: "pawl", Step: a.Gate.Step,
	}}}
}
