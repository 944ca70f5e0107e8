package recovery

import (
	"pawl"
)

// rule is a row of the decision table. The first rule that holds gives the verdict.
type rule struct {
	name      string // stable: journals contain it
	holds     func(Case) bool
	condition string // describes holds for people
	verdict   pawl.VerdictWord
	choices   []pawl.VerdictWord // verdicts that an evaluator may choose instead; nil for none
	why       string
}

// LiveUnsafe is the rule for an attempt that runs with an outdated definition and is not safe to rerun. It cannot be
// terminated.
const LiveUnsafe = "live-unsafe"

// AwayRule is the rule for an attempt that a worker may carry out.
const AwayRule = "away"

// NoTries is the rule for an attempt that did not succeed, is safe to rerun and was the last one allowed.
const NoTries = "no-tries"

// Again is the rule for work that did not succeed and may run again.
const Again = "again"

// rules is the decision table. A step is done only if it ended successfully, or said so and is proven. Only a step that
// is safe to rerun is restarted. Everything else is decided by a person, or by an evaluator among safe choices.
var rules = []rule{
	{
		"begun-nowhere", func(c Case) bool { return c.Attempt == NoAttempt && c.Result == NoResult },
		"no attempt was made", pawl.Restart, nil,
		"the step was never started",
	},
	{
		"not-begun", func(c Case) bool { return c.Attempt == NotBegun && c.Result == NoResult },
		"the intent is journaled; nothing was started", pawl.Restart, nil,
		"the attempt crashed before it started",
	},
	{
		"contradiction", func(c Case) bool { return c.Attempt == NoAttempt || c.Attempt == NotBegun },
		"nothing was started, but a result exists", pawl.HumanReview, nil,
		"a result exists, but the attempt never started",
	},
	{
		"live-elsewhere", func(c Case) bool { return c.Attempt == Live && !c.SamePlace },
		"running; the project was moved or the branch changed", pawl.HumanReview, nil,
		"still running, but the project was moved or the branch changed since it started",
	},
	{
		"live", func(c Case) bool { return c.Attempt == Live && c.SameStep },
		"running; definition unchanged", pawl.Continue, nil,
		"still running",
	},
	{
		"live-outdated", func(c Case) bool { return c.Attempt == Live && c.Idempotent },
		"running; definition changed; safe to rerun", pawl.Restart, nil,
		"still running with an outdated definition; pawl terminates and reruns it",
	},
	{
		LiveUnsafe, func(c Case) bool { return c.Attempt == Live },
		"running; definition changed; not safe to rerun", pawl.HumanReview, nil,
		"still running with an outdated definition and not safe to rerun; pawl lets it finish",
	},
	{
		AwayRule, func(c Case) bool { return c.Attempt == Away && c.SamePlace && c.SameStep },
		"a worker may carry it out; definition unchanged", pawl.Continue, nil,
		"a worker may carry it out; pawl asks the queue, and waits for the result",
	},
	{
		"elsewhere", func(c Case) bool { return !c.SamePlace },
		"the project was moved or the branch changed", pawl.HumanReview, nil,
		"the project was moved or the branch changed since it ran; the files here prove nothing",
	},
	{
		"outdated", func(c Case) bool { return !c.SameStep && c.Idempotent },
		"definition changed; safe to rerun", pawl.Restart, nil,
		"the step's definition changed",
	},
	{
		"outdated-unsafe", func(c Case) bool { return !c.SameStep },
		"definition changed; not safe to rerun", pawl.HumanReview, nil,
		"the step's definition changed, and it is not safe to rerun",
	},
	{
		"done", func(c Case) bool {
			return c.Attempt == ExitZero && (c.Result == NoResult || c.Result == SaysDone) && c.noneMissing() && c.Checks != ChecksFail
		},
		"ended successfully; result, outputs and checks agree", pawl.Next, nil,
		"ended successfully; no declared output is missing",
	},
	{
		"said-done-and-proven", func(c Case) bool { return c.Attempt == Lost && c.Result == SaysDone && c.proven() },
		"supervisor died, a result file says done; all outputs exist or the checks pass; none fails", pawl.Next, nil,
		"a result file says done, and the outputs or checks prove it",
	},
	{
		"unsafe-complete", func(c Case) bool { return !c.Idempotent && c.Attempt == Lost && c.Result == NoResult && c.complete() },
		"supervisor died, no result; all outputs exist and the checks pass; not safe to rerun", pawl.HumanReview,
		[]pawl.VerdictWord{pawl.Next, pawl.HumanReview},
		"looks complete but did not report done, and is not safe to rerun",
	},
	{
		"unsafe", func(c Case) bool { return !c.Idempotent },
		"failed, or its supervisor died; not safe to rerun", pawl.HumanReview, nil,
		"may have had effects and is not idempotent",
	},
	{
		NoTries, func(c Case) bool { return !c.TriesLeft },
		"safe to rerun, but no retries are left, or it crashed too often", pawl.HumanReview, nil,
		"no attempts are left",
	},
	{
		"unmet", func(c Case) bool { return c.claimsDone() && c.noneMissing() && c.Checks == ChecksFail },
		"reported done; no output is missing, but checks fail", pawl.Continue,
		[]pawl.VerdictWord{pawl.Continue, pawl.Restart, pawl.HumanReview},
		"the work exists but checks fail; the next attempt gets the list of failed checks",
	},
	{
		"partial", func(c Case) bool { return c.Attempt == Lost && c.partial() && c.Checks != ChecksFail },
		"supervisor died; all or some outputs exist; no check fails", pawl.Continue,
		[]pawl.VerdictWord{pawl.Continue, pawl.Restart, pawl.HumanReview},
		"partial work exists; the next attempt continues from it",
	},
	{
		Again, func(Case) bool { return true },
		"anything else that is safe to rerun", pawl.Restart,
		nil,
		"did not succeed and is safe to rerun",
	},
}

// Judge returns the verdict of the first rule that holds.
func Judge(c Case) pawl.Verdict {
	for _, r := range rules {
		if r.holds(c) {
			return pawl.Verdict{Word: r.verdict, Rule: r.name, Reasons: append([]string{r.why}, c.details()...), Open: r.choices}
		}
	}
	panic("the last rule always holds")
}

// resultText describes the result. Only an exit record of the supervisor confirms the file: any program can write it.
func (c Case) resultText() string {
	if c.Attempt == Lost {
		return map[Result]string{
			NoResult: "it reported nothing", SaysDone: "a result file says done; it is not confirmed", SaysOther: "a result file does not say done; it is not confirmed",
			Unreadable: "its result file is unreadable",
		}[c.Result]
	}
	return map[Result]string{
		SaysDone: "it reported done", SaysOther: "it did not report done", Unreadable: "its result file is unreadable",
	}[c.Result]
}

// details lists the facts behind the verdict, in words.
func (c Case) details() []string {
	var said []string
	if c.Attempt == NoAttempt || c.Attempt == NotBegun || c.Attempt == Live || c.Attempt == Away {
		return nil
	}
	said = append(said, map[Attempt]string{ExitZero: "exit code 0", ExitOther: "it failed", Lost: "its supervisor died"}[c.Attempt])
	if text := c.resultText(); text != "" {
		said = append(said, text)
	}
	if text := map[Outputs]string{AllOutputs: "all outputs exist", SomeOutputs: "some outputs exist", NoOutputs: "no output exists"}[c.Outputs]; text != "" {
		said = append(said, text)
	}
	if text := map[Checks]string{ChecksPass: "checks pass", ChecksFail: "checks fail"}[c.Checks]; text != "" {
		said = append(said, text)
	}
	return said
}

// VerdictText says what a verdict means for an attempt; crashed reports whether it has no recorded end.
func VerdictText(v pawl.Verdict, crashed bool) string {
	switch {
	case v.Word == pawl.Next:
		return "accept as done"
	case v.Word == pawl.Continue && (v.Rule == "live" || v.Rule == AwayRule):
		return "re-attach"
	case v.Word == pawl.Continue:
		return "continue from the existing work"
	case v.Word == pawl.Restart:
		return "rerun"
	case v.Word == pawl.HumanReview && v.Rule == "no-tries" && !crashed:
		return "the step fails: no attempts are left"
	case v.Word == pawl.HumanReview:
		return "needs your decision"
	}
	return string(v.Word)
}
