package engine_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/engine"
	"pawl/internal/engine/enginetest"
	"pawl/internal/evidence"
)

// adviser is an evaluator that is a function.
type adviser func(evidence.Evidence) engine.Evaluation

func (a adviser) Evaluate(_ context.Context, e evidence.Evidence) engine.Evaluation { return a(e) }

// lostComplete is a plan whose only step is lost when all its work is there. It must not be repeated, so that the rules leave
// open whether it is done.
const lostComplete = "name: demo\nsteps: [{id: a, goal: Be right, idempotent: false, outputs: [a.txt], accept: {right: grep right a.txt}, " +
	"run: 'echo right > a.txt; echo printed; " + held + "'}]\n"

// An evaluator gets the evidence and chooses among the verdicts that the rules allow.
func TestAdvice(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	killed(p, lostComplete)
	loseAttempt(p)
	var told evidence.Evidence
	p.Config.Evaluator = adviser(func(e evidence.Evidence) engine.Evaluation {
		told = e
		return engine.Evaluation{Word: pawl.Next, Reasons: []string{"it looks right"}, By: "test", Cost: pawl.Usage{USD: 0.1}}
	})
	p.Check(p.GoOn())
	p.WantText("ledger.txt", "begun\n")
	if told.Step.ID != "a" || told.Step.Goal != "Be right" || told.LastAction != "half" || !strings.HasPrefix(told.Outcome.Printed, "printed") ||
		!slices.Contains(told.Allowed, pawl.Next) || told.Steps != 1 || len(told.Outcome.Missing) != 0 {
		t.Errorf("told %+v", told)
	}
	d := enginetest.Payloads[pawl.StepDone](p)[0]
	if d.Verdict == nil || d.Verdict.By != "test" || d.Verdict.Word != pawl.Next || d.Verdict.Cost.USD != 0.1 {
		t.Errorf("verdict %+v", d.Verdict)
	}
}

// An evaluator that is of no help leaves it to a person.
func TestAdviceOfNoHelp(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	killed(p, lostComplete)
	loseAttempt(p)
	p.Config.Evaluator = adviser(func(evidence.Evidence) engine.Evaluation {
		return engine.Evaluation{Word: pawl.HumanReview, Doubt: "it cannot say", By: "test"}
	})
	p.WantKind(p.GoOn(), pawl.KindAtGate)
	if end := enginetest.Payloads[pawl.AttemptEnded](p)[0]; end.Verdict == nil || end.Verdict.Doubt != "it cannot say" {
		t.Errorf("verdict %+v", end.Verdict)
	}
}

// An evaluator gets the files that changed since the last snapshot, and the missing outputs.
func TestAdviceIsToldOfFiles(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	var told evidence.Evidence
	p.Config.Evaluator = adviser(func(e evidence.Evidence) engine.Evaluation {
		told = e
		return engine.Evaluation{Word: pawl.Restart, By: "test"}
	})
	p.WantKind(p.Do(`name: demo
steps:
  - {id: one, run: echo one > one.txt; echo gone > gone.txt}
  - {id: two, run: echo more >> one.txt; rm gone.txt; echo new > new.txt, accept: {right: "false"}, retry: {attempts: 2, backoff: 1ms}}
`), pawl.KindRunFailed)
	how := map[string]string{}
	for _, f := range told.Changed.Files {
		how[f.Path] = f.How
	}
	if how["one.txt"] != "modified" || how["gone.txt"] != "deleted" || how["new.txt"] != "created" || told.StepsDone != 1 {
		t.Errorf("changed %v; done %d", how, told.StepsDone)
	}
}
