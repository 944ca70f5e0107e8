package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli/hints"
	"pawl/internal/cli/layout"
	"pawl/internal/cli/resumeview"
	"pawl/internal/project"
	"pawl/internal/recovery"
	"pawl/internal/redact"
	"pawl/internal/resume"
	"pawl/internal/runs"
	"pawl/internal/stepenv"
)

func (a *app) explainCommand() *cobra.Command {
	var run string
	var rules bool
	c := &cobra.Command{
		Use:   "explain [STEP]",
		Short: "Explain what pawl decided about an interrupted or failed step, and why",
		Long:  "Explain what pawl decided about an interrupted or failed step, and why\n\nThe evaluator in the rules is a program or a model that the settings may name: pawl asks it where a rule leaves a choice.",
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
			if step != "" {
				if err := runs.CheckStep(r, step); err != nil {
					return hints.For(c.Context(), p, r.State.Run, err)
				}
			}
			return a.explain(c.Context(), p, r, step)
		},
	}
	runFlag(c, &run)
	c.Flags().BoolVar(&rules, "rules", false, "print all recovery rules and exit")
	return a.jsonFlag(c)
}

func (a *app) explain(ctx context.Context, p *project.Project, r *runs.Run, step pawl.StepID) error {
	list, err := resume.Explain(r, step)
	if err != nil {
		return err
	}
	if a.json {
		if list == nil {
			list = []resume.Explained{}
		}
		return a.printJSON(list)
	}
	if params := redact.OfProcess().Text(stepenv.ParamsLine(r.Plan, r.State.Given)); params != "" {
		fmt.Fprintf(a.Out, "params  %s\n", layout.OneLine(params))
	}
	return resumeview.Explain(a.Out, p, r, step, list, hints.Namer(ctx, p, r.State.Run))
}

func (a *app) printRules() error {
	if a.json {
		return a.printJSON(recovery.Table())
	}
	_, err := fmt.Fprint(a.Out, recovery.Markdown())
	return err
}
