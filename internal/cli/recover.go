package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli/layout"
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

// recoverReport is what `pawl recover --json` prints.
type recoverReport struct {
	rebuild.Proposal
	New      bool   `json:"new,omitempty"`      // the run was unknown: it is created from git commits
	Accepted bool   `json:"accepted,omitempty"` // the journal was rebuilt
	Aside    string `json:"aside,omitempty"`    // path of the damaged journal
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
	report := recoverReport{Proposal: r.Proposal, New: r.New}
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
	a.printRecovery(report, o)
	return nil
}

func (a *app) printRecovery(r recoverReport, o recoverOptions) {
	if r.Sound {
		fmt.Fprintf(a.Out, "run %s: nothing to recover, the journal is intact (%s)\n", r.Run, layout.Count(int(r.Kept), "event"))
		return
	}
	if r.New {
		fmt.Fprintf(a.Out, "new run %s\n", r.Run)
	} else {
		fmt.Fprintf(a.Out, "run %s\n", r.Run)
	}
	for _, why := range r.Why {
		fmt.Fprintf(a.Out, "  damage   %s\n", why)
	}
	for _, p := range withoutCertainItems(r.Parts) {
		a.printRecoveredPart(p)
	}
	again := "pawl recover " + string(r.Run)
	if r.New {
		again = "pawl recover"
	}
	if o.plan != "" {
		again += " --plan " + o.plan
	}
	switch {
	case r.Accepted && r.Aside != "":
		fmt.Fprintf(a.Out, "journal rebuilt; the damaged one was renamed to %s\n", r.Aside)
		fallthrough
	case r.Accepted:
		fmt.Fprintf(a.Err, "pawl: hint: pawl resume %s\n", r.Run)
	default:
		fmt.Fprintln(a.Out, "Nothing was changed.", doubtSummary(r.Parts, o))
		fmt.Fprintf(a.Err, "pawl: hint: %s --accept\n", again)
	}
}

// doubtSummary says what happens to the parts of which it is unclear whether they are done.
func doubtSummary(parts []rebuild.Part, o recoverOptions) string {
	n := 0
	for _, p := range parts {
		if p.Status == rebuild.PartInDoubt && p.Confidence == rebuild.Likely {
			n++
		}
	}
	if n == 0 || o.trust == string(rebuild.Likely) {
		return "Unclear parts will rerun, or ask for your decision."
	}
	return fmt.Sprintf("Unclear parts will rerun, or ask for your decision; --trust likely accepts %d of them.", n)
}

// withoutCertainItems drops the items that are certain, because the line of their step counts them.
func withoutCertainItems(parts []rebuild.Part) []rebuild.Part {
	var short []rebuild.Part
	for _, p := range parts {
		if p.What != "item" || p.Confidence != rebuild.Certain || p.Status == rebuild.PartInDoubt {
			short = append(short, p)
		}
	}
	return short
}

func (a *app) printRecoveredPart(p rebuild.Part) {
	name := p.What
	if p.Step != "" {
		name += " " + pawl.AttemptRef{Step: p.Step, Item: p.Item}.Name()
	}
	status := string(p.Status)
	switch {
	case p.Status == rebuild.PartInDoubt && p.Claim == rebuild.PartNotDone:
		status = "unclear: may not be done"
	case p.Status == rebuild.PartInDoubt && p.Claim != "":
		status = "unclear: may be " + string(p.Claim)
	case p.Status == rebuild.PartInDoubt:
		status = "unclear"
	}
	text := strings.Join(p.Evidence, "; ")
	if p.Text != "" {
		text = p.Text + ": " + text
	}
	fmt.Fprintf(a.Out, "  %-7s  %-20s  %-24s  %s\n", p.Confidence, name, status, text)
}
