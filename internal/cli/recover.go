package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"pawl/internal/cli/recoverview"
	"pawl/internal/rebuild"
)

type recoverOptions struct {
	accept bool
	trust  string
	plan   string
}

func (a *app) recoverCommand() *cobra.Command {
	var o recoverOptions
	c := &cobra.Command{
		Use:   "recover [RUN]",
		Short: "Rebuild a run whose journal is damaged or lost",
		Long: "Rebuild a run whose journal is damaged or lost\n\nrecover collects what is left: the intact start of the journal, the records of steps, snapshots, STATE.md and similar\n" +
			"files, git commits and the plan. It prints each recovered part with its confidence and evidence. It changes nothing\n" +
			"without --accept. The damaged journal is renamed, never deleted.",
		Example: "  pawl recover\n  pawl recover --accept && pawl resume",
		Args:    atMostOne,
		RunE: func(c *cobra.Command, args []string) error {
			return a.recover(c.Context(), optional(args, 0), o)
		},
	}
	c.Flags().BoolVar(&o.accept, "accept", false, "rebuild the journal as proposed")
	o.trust = string(rebuild.Certain)
	textFlag(c, &o.trust, "trust", "LEVEL", "how sure a part must be to be accepted: certain or likely")
	textFlag(c, &o.plan, "plan", "FILE", "the run's plan file, if pawl has stored none")
	return a.jsonFlag(c)
}

func (a *app) recover(ctx context.Context, name string, o recoverOptions) (err error) {
	p, err := a.project()
	if err != nil {
		return err
	}
	trust := rebuild.Confidence(o.trust)
	if trust != rebuild.Certain && trust != rebuild.Likely {
		return usageError("pawl recover --trust likely", "unknown --trust level %q; expected certain or likely", o.trust)
	}
	cfg, err := a.engineConfig(p)
	if err != nil {
		return err
	}
	plan := o.plan
	if plan != "" {
		if plan, err = a.absolutePath(plan); err != nil {
			return err
		}
	}
	r, err := rebuild.PrepareRecovery(ctx, p, rebuild.Options{
		Run: name, Plan: plan, Trust: trust, Snapshots: cfg.Snapshots, Version: a.version, Person: a.author().Name,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	report := recoverview.Report{Proposal: r.Proposal, New: r.New}
	if o.accept && !r.Sound {
		done, err := r.Accept()
		if err != nil {
			return err
		}
		report.Accepted, report.Aside = true, done.Aside
		if err := r.Refresh(ctx); err != nil { // a failure here does not fail the recovery
			a.printNotes([]string{fmt.Sprintf("views: %v", err)})
		}
	}
	if a.json {
		return a.printJSON(report)
	}
	report.Print(a.Out, a.Err, o.plan, o.trust)
	return nil
}
