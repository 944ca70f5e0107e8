package cli

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli/hints"
	"pawl/internal/cli/layout"
	"pawl/internal/cli/liveview"
	"pawl/internal/recovery"
	"pawl/internal/resume"
)

func (a *app) explainCommand() *cobra.Command {
	var run string
	var rules bool
	c := &cobra.Command{
		Use:   "explain [STEP]",
		Short: "Explain how an interrupted step was judged",
		Args:  atMostOne,
		RunE: func(c *cobra.Command, args []string) error {
			if rules {
				return a.printRules()
			}
			p, r, err := a.loadRun(c.Context(), run)
			if err != nil {
				return err
			}
			defer r.Log.Close()
			step := pawl.StepID(optional(args, 0))
			if step != "" && r.Plan.Step(step) == nil {
				err := usageError("pawl status", "unknown step %s: the plan of this run has no such step", step)
				return hints.For(c.Context(), p, r.State.Run, err)
			}
			list, err := resume.Explain(r, step)
			if err != nil {
				return err
			}
			if len(list) == 0 && step != "" && !a.json {
				fmt.Fprintf(a.Out, "step %s was not interrupted and did not fail: nothing to explain\n", step)
				return nil
			}
			return a.printExplained(list, func(x resume.Explained) []string {
				return commandsAfter(r.State, x, hints.Namer(c.Context(), p, r.State.Run))
			})
		},
	}
	runFlag(c, &run)
	c.Flags().BoolVar(&rules, "rules", false, "print all recovery rules and exit")
	return a.jsonFlag(c)
}

func (a *app) printRules() error {
	if a.json {
		return a.printJSON(recovery.Table())
	}
	_, err := fmt.Fprint(a.Out, recovery.Markdown())
	return err
}

// commandsAfter returns the commands that continue after a verdict that leaves the decision to a person.
func commandsAfter(s *pawl.State, x resume.Explained, onRun func(string) string) []string {
	st := s.Steps[x.Step]
	if x.Verdict.Word != pawl.HumanReview || st == nil || st.Status != pawl.FailedForGood || x.Item == "" && x.Attempt < st.Attempts {
		return nil
	}
	return []string{onRun("pawl retry " + string(x.Step)), onRun("pawl skip " + string(x.Step))}
}

// explainedVerdict says what a verdict means for an attempt that has ended.
func explainedVerdict(x resume.Explained) string {
	if x.Verdict.Rule == recovery.NoTries && x.Outcome == string(pawl.Failed) && x.Why != "" {
		return x.Why + " and no retries left"
	}
	return verdictText(x.Verdict.Word)
}

func (a *app) printExplained(list []resume.Explained, next func(resume.Explained) []string) error {
	if a.json {
		if list == nil {
			list = []resume.Explained{}
		}
		return a.printJSON(list)
	}
	if len(list) == 0 {
		fmt.Fprintln(a.Out, "no step was interrupted or failed: nothing to explain")
	}
	for i, x := range list {
		if i > 0 {
			fmt.Fprintln(a.Out)
		}
		ref := pawl.AttemptRef{Step: x.Step, Item: x.Item, Attempt: x.Attempt}
		fmt.Fprintf(a.Out, "%s  attempt %d of %s %s: %s\n", layout.UTCWithZone(x.Time), x.Attempt, ref.Name(), liveview.OutcomeText(pawl.Outcome(x.Outcome)), x.Why)
		for _, f := range x.Found {
			if f.Level != pawl.OK {
				fmt.Fprintf(a.Out, "  finding  %s: %s\n", cmp.Or(f.Where, "run"), f.What)
			}
		}
		for _, reason := range x.Verdict.Reasons {
			fmt.Fprintf(a.Out, "  reason   %s\n", reason)
		}
		fmt.Fprintf(a.Out, "  verdict  %s: %s (rule: %s)\n", x.Verdict.Word, explainedVerdict(x), x.Verdict.Rule)
		if x.Verdict.By != "" {
			fmt.Fprintf(a.Out, "  chosen   by %s\n", x.Verdict.By)
		}
		if x.Verdict.Doubt != "" {
			fmt.Fprintf(a.Out, "  doubt    the evaluator's answer was rejected: %s\n", x.Verdict.Doubt)
		}
		for _, command := range next(x) {
			fmt.Fprintf(a.Out, "  next     %s\n", command)
		}
	}
	return nil
}
