package cli

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/brief"
	"pawl/internal/caller"
	"pawl/internal/cli/promptview"
	"pawl/internal/project"
	"pawl/internal/runs"
	"pawl/internal/sessions"
)

func (a *app) briefCommand() *cobra.Command {
	audience, since, prompt := string(brief.Human), "", ""
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
			if prompt != "" {
				return a.stepPrompt(c.Context(), optional(args, 0), pawl.StepID(prompt))
			}
			return a.brief(c, optional(args, 0), sessions.Briefing{Options: brief.Options{For: who, Budget: budget}, Since: since})
		},
	}
	textFlag(c, &audience, "for", "READER", "the reader: claude, codex, gemini, opencode, copilot, kernel (a notebook kernel) or human")
	numberVar(c, &budget, "budget", "", 0, math.MinInt, "at most `N` bytes, 2000 or more (default: depends on the reader, about 9000)")
	c.Flags().StringVar(&since, "since", "", "list changes since `CHECKPOINT` (default: the run's newest one that is no emergency or heartbeat checkpoint)")
	c.Flags().StringVar(&prompt, "prompt", "", "print the prompt that the next attempt at agent step `STEP` would start with, brief included, and nothing else")
	for _, other := range []string{"for", "budget", "since"} {
		c.MarkFlagsMutuallyExclusive("prompt", other)
	}
	return a.jsonFlag(c)
}

// stepPrompt prints the prompt that the next attempt at a step would start with.
func (a *app) stepPrompt(ctx context.Context, name string, step pawl.StepID) error {
	p, r, err := a.loadRun(ctx, name)
	if err != nil {
		return err
	}
	defer r.Log.Close()
	cfg, err := a.engineConfig(p)
	if err != nil {
		return err
	}
	prompt, err := promptview.Of(ctx, cfg, r, step)
	switch {
	case err != nil:
		return err
	case a.json:
		return a.printJSON(prompt)
	}
	_, err = fmt.Fprint(a.Out, prompt.Text)
	return err
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
	b.Load = func(ctx context.Context) (*runs.Run, error) { return runForBrief(ctx, p, name) }
	if who := a.permitted; who != nil && who.Kind == caller.Agent && who.Session != "" {
		b.Session = pawl.SessionIDOf(who.Name, who.Session, "")
	}
	told, err := sessions.Brief(c.Context(), p, "", b)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(told)
	}
	_, err = fmt.Fprint(a.Out, told.Text)
	return err
}

// runForBrief loads a run. Without a name it returns nil if there are no runs: a brief can say that too.
func runForBrief(ctx context.Context, p *project.Project, name string) (*runs.Run, error) {
	r, err := runs.LoadNamed(ctx, p, name)
	if name == "" && errors.Is(err, pawl.ErrNoRun) {
		return nil, nil
	}
	return r, err
}
