package cli

import (
	"errors"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/brief"
	"pawl/internal/project"
	"pawl/internal/runs"
	"pawl/internal/sessions"
)

func (a *app) briefCommand() *cobra.Command {
	audience, since := string(brief.Human), ""
	var budget int
	c := &cobra.Command{
		Use:     "brief [RUN]",
		Short:   "Print where a run stands and what to do next, for an agent or a person",
		Example: "  pawl brief\n  pawl brief --for codex\n  pawl brief --since 3f2a91c0 --budget 4000 --json",
		Args:    atMostOne,
		RunE: func(c *cobra.Command, args []string) error {
			who, err := brief.ParseAudience(audience)
			if err != nil {
				return usageError("pawl brief --for human", "%v", err)
			}
			if c.Flags().Changed("budget") && budget < brief.MinBudget {
				return usageError(fmt.Sprintf("pawl brief --budget %d", brief.MinBudget), "--budget %d is too small; the minimum is %d bytes", budget, brief.MinBudget)
			}
			return a.brief(c, optional(args, 0), sessions.Briefing{Options: brief.Options{For: who, Budget: budget}, Since: since})
		},
	}
	textFlag(c, &audience, "for", "READER", "the reader: claude, codex, gemini, opencode, copilot, kernel (a notebook) or human")
	numberVar(c, &budget, "budget", "", 0, math.MinInt, "at most `N` bytes (default: depends on the reader, about 9000)")
	c.Flags().StringVar(&since, "since", "", "list changes since `CHECKPOINT` (default: the run's last good checkpoint)")
	return a.jsonFlag(c)
}

func (a *app) brief(c *cobra.Command, name string, b sessions.Briefing) error {
	p, err := a.project()
	if err != nil {
		return err
	}
	cfg, err := a.engineConfig(p)
	if err != nil {
		return err
	}
	b.Snapshots = cfg.Snapshots
	if name == "" {
		if step := stepClient(); step != nil && step.Attempt.Attempt > 0 {
			name, b.Attempt = string(step.Run), &step.Attempt
		}
	}
	run, err := a.runForBrief(c, p, name)
	if err != nil {
		return err
	}
	told, err := sessions.Brief(c.Context(), p, run, b)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(told)
	}
	_, err = fmt.Fprint(a.Out, told.Text)
	return err
}

// runForBrief resolves a run's name. Without a name it returns "" if there are no runs: a brief can say that too.
func (a *app) runForBrief(c *cobra.Command, p *project.Project, name string) (pawl.RunID, error) {
	run, err := runs.FindRun(c.Context(), p, name)
	if name == "" && errors.Is(err, pawl.ErrNoRun) {
		return "", nil
	}
	return run, err
}
