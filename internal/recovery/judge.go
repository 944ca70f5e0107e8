package recovery

import (
	"pawl"
)

// rule is one line of the table. The first whose condition holds gives the verdict.
type rule struct {
	name      string // stable: journals name it
	holds     func(Case) bool
	condition string // the condition in words
	verdict   pawl.VerdictWord
	choices   []pawl.VerdictWord // what an evaluator may choose instead; nil: nothing
	why       string
}

// LiveUnsafe is the rule of what runs by an old definition and must not be repeated: it cannot be ended and begun again.
const LiveUnsafe = "live-unsafe"

// rules is the table. Nothing is taken for done but what ended well or said so and is proven; nothing is begun again
// but what may be repeated; all else a person decides, or among what is safe an evaluator.
var rules = []rule{
	{
		"begun-nowhere", func(c Case) bool { return c.Attempt == NoAttempt && c.Result == NoResult },
		"no attempt was made", pawl.Restart, nil,
		"nothing was begun",
	},
	{
		"not-begun", func(c Case) bool { return c.Attempt == NotBegun && c.Result == NoResult },
		"the intent is journaled, nothing was started", pawl.Restart, nil,
		"it was lost before it began",
	},
	{
		"contradiction", func(c Case) bool { return c.Attempt == NoAttempt || c.Attempt == NotBegun },
		"nothing was started, yet there is a result", pawl.HumanReview, nil,
		"there is a result of an attempt that never began",
	},
	{
		"live-elsewhere", func(c Case) bool { return c.Attempt == Live && !c.SamePlace },
		"it runs, and the files are not those of where it was started", pawl.HumanReview, nil,
		"it still runs, but this is another place than where it was started",
	},
	{
		"live", func(c Case) bool { return c.Attempt == Live && c.SameStep },
		"it runs, as the plan has it", pawl.Continue, nil,
		"it still runs: it is re-attached",
	},
	{
		"live-outdated", func(c Case) bool { return c.Attempt == Live && c.Idempotent },
		"it runs by a definition that the plan no longer has, and may be repeated", pawl.Restart, nil,
		"it still runs by an older definition: it is ended and begun again",
	},
	{
		LiveUnsafe, func(c Case) bool { return c.Attempt == Live },
		"it runs by a definition that the plan no longer has, and must not be repeated", pawl.HumanReview, nil,
		"it still runs by an older definition and must not be repeated: it is left to run to its end",
	},
	{
		"elsewhere", func(c Case) bool { return !c.SamePlace },
		"the files are not those of where it ran", pawl.HumanReview, nil,
		"this is another place than where it ran: what is here proves nothing",
	},
	{
		"outdated", func(c Case) bool { return !c.SameStep && c.Idempotent },
		"the plan has another definition now; it may be repeated", pawl.Restart, nil,
		"the plan says something else of it now",
	},
	{
		"outdated-unsafe", func(c Case) bool { return !c.SameStep },
		"the plan has another definition now; it must not be repeated", pawl.HumanReview, nil,
		"the plan says something else of it now, and it must not be repeated",
	},
	{
		"done", func(c Case) bool {
			return c.Attempt == ExitZero && (c.Result == NoResult || c.Result == SaysDone) && c.noneMissing() && c.Checks != ChecksFail
		},
		"it ended well, nothing says otherwise, nothing is missing, no check fails", pawl.Next, nil,
		"it ended well, and all that it declares is there",
	},
	{
		"said-done-and-proven", func(c Case) bool { return c.Attempt == Lost && c.Result == SaysDone && c.proven() },
		"its supervisor was lost after it said that it was done; outputs are all there or checks pass, none fails", pawl.Next, nil,
		"it said that it was done, and what is there proves it",
	},
	{
		"unsafe-complete", func(c Case) bool { return !c.Idempotent && c.Attempt == Lost && c.Result == NoResult && c.complete() },
		"lost without a word; all outputs are there and the checks pass; it must not be repeated", pawl.HumanReview,
		[]pawl.VerdictWord{pawl.Next, pawl.HumanReview},
		"it looks complete but did not say so, and must not be repeated",
	},
	{
		"unsafe", func(c Case) bool { return !c.Idempotent },
		"it did not end well, or was lost; it must not be repeated", pawl.HumanReview, nil,
		"it may have done some of its work, and must not be repeated",
	},
	{
		"no-tries", func(c Case) bool { return !c.TriesLeft },
		"it may be repeated, but no tries are left, or it was lost too often", pawl.HumanReview, nil,
		"it was tried as often as it may be",
	},
	{
		"unmet", func(c Case) bool { return c.claimsDone() && c.noneMissing() && c.Checks == ChecksFail },
		"it ended well, or was lost after it said that it was done; nothing is missing, but checks fail", pawl.Continue,
		[]pawl.VerdictWord{pawl.Continue, pawl.Restart, pawl.HumanReview},
		"its work is there, but for what its checks ask: the next attempt is told which fail, and does these",
	},
	{
		"partial", func(c Case) bool { return c.Attempt == Lost && c.partial() && c.Checks != ChecksFail },
		"lost; some or all of its outputs are there, no check fails", pawl.Continue,
		[]pawl.VerdictWord{pawl.Continue, pawl.Restart, pawl.HumanReview},
		"some of its work is there: the next attempt is told, and goes on from it",
	},
	{
		"again", func(Case) bool { return true },
		"all else that may be repeated", pawl.Restart,
		nil,
		"it did not end well, and may be repeated",
	},
}

// Judge says what is safe to do.
func Judge(c Case) pawl.Verdict {
	for _, r := range rules {
		if r.holds(c) {
			return pawl.Verdict{Word: r.verdict, Rule: r.name, Reasons: append([]string{r.why}, c.details()...), Open: r.choices}
		}
	}
	panic("the last rule holds always")
}

// details says in words what the verdict rests on, beyond the rule's own words.
func (c Case) details() []string {
	var said []string
	if c.Attempt == NoAttempt || c.Attempt == NotBegun || c.Attempt == Live {
		return nil
	}
	said = append(said, map[Attempt]string{ExitZero: "it ended with exit code 0", ExitOther: "it did not end well", Lost: "its supervisor was lost"}[c.Attempt])
	said = append(said, map[Result]string{
		NoResult: "it left no result", SaysDone: "it said that it was done", SaysOther: "it said that it was not done", Unreadable: "its result cannot be read",
	}[c.Result])
	if text := map[Outputs]string{AllOutputs: "all its outputs are there", SomeOutputs: "some of its outputs are there", NoOutputs: "none of its outputs is there"}[c.Outputs]; text != "" {
		said = append(said, text)
	}
	if text := map[Checks]string{ChecksPass: "its checks pass", ChecksFail: "its checks fail"}[c.Checks]; text != "" {
		said = append(said, text)
	}
	return said
}
