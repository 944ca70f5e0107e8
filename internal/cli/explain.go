package cli

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"pawl"
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
			_, r, err := a.loadRun(c.Context(), run)
			if err != nil {
				return err
			}
			defer r.Log.Close()
			step := pawl.StepID(optional(args, 0))
			if step != "" && r.Plan.Step(step) == nil {
				return usageError("pawl status", "unknown step %s: the plan of this run has no such step", step)
			}
			list, err := resume.Explain(r, step)
			if err != nil {
				return err
			}
			return a.printExplained(list)
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

func (a *app) printExplained(list []resume.Explained) error {
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
		fmt.Fprintf(a.Out, "  verdict  %s: %s (rule: %s)\n", x.Verdict.Word, verdictText(x.Verdict.Word), x.Verdict.Rule)
		if x.Verdict.By != "" {
			fmt.Fprintf(a.Out, "  chosen   by %s\n", x.Verdict.By)
		}
		if x.Verdict.Doubt != "" {
			fmt.Fprintf(a.Out, "  doubt    the evaluator's answer was rejected: %s\n", x.Verdict.Doubt)
		}
	}
	return nil
}
