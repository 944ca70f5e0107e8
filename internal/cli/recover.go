package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"pawl"
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
		Long: "Rebuild a run whose journal is damaged or lost\n\nWhat is left says what can be proven: the journal's beginning, the records of\n" +
			"its steps, snapshots, views, git's commits and the plan. It says how sure each part is, and on which evidence. Nothing is\n" +
			"changed without --accept. The damaged journal is set aside, never deleted.",
		Example: "  pawl recover\n  pawl recover --accept && pawl resume",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.recover(c.Context(), optional(args, 0), o)
		},
	}
	c.Flags().BoolVar(&o.accept, "accept", false, "rebuild the journal as proposed")
	c.Flags().StringVar(&o.trust, "trust", string(rebuild.Certain), "what to believe: certain, or likely as well")
	c.Flags().StringVar(&o.plan, "plan", "", "the file of the run's plan, where none lies beside the journal")
	return a.jsonFlag(c)
}

// recoverReport is what `pawl recover --json` prints.
type recoverReport struct {
	rebuild.Proposal
	New      bool   `json:"new,omitempty"`      // there was no such run: it is made from what git says
	Accepted bool   `json:"accepted,omitempty"` // the journal is rebuilt
	Aside    string `json:"aside,omitempty"`    // where the damaged journal is kept
}

func (a *app) recover(ctx context.Context, name string, o recoverOptions) (err error) {
	p, err := a.project()
	if err != nil {
		return err
	}
	trust := rebuild.Confidence(o.trust)
	if trust != rebuild.Certain && trust != rebuild.Likely {
		return usageError("pawl recover --trust likely", "--trust is certain or likely, not %q", o.trust)
	}
	cfg, err := a.engineConfig(p)
	if err != nil {
		return err
	}
	plan := o.plan
	if plan != "" {
		if plan, err = a.fromHere(plan); err != nil {
			return err
		}
	}
	r, err := rebuild.PrepareRecovery(ctx, p, rebuild.Options{
		Run: name, Plan: plan, Trust: trust, Snapshots: cfg.Snapshots, Version: a.version, Person: me().Name,
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
		if err := r.Refresh(ctx); err != nil { // they are no part of it
			a.sayNotes([]string{fmt.Sprintf("views: %v", err)})
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
		fmt.Fprintf(a.Out, "run %s: its journal is intact (%d events); there is nothing to recover\n", r.Run, r.Kept)
		return
	}
	if r.New {
		fmt.Fprintf(a.Out, "new run %s\n", r.Run)
	} else {
		fmt.Fprintf(a.Out, "run %s\n", r.Run)
	}
	for _, why := range r.Why {
		fmt.Fprintf(a.Out, "  wrong  %s\n", why)
	}
	for _, p := range shortened(r.Parts) {
		a.printPart(p)
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
		fmt.Fprintf(a.Out, "rebuilt; the damaged journal is kept as %s\n", r.Aside)
		fallthrough
	case r.Accepted:
		fmt.Fprintf(a.Err, "pawl: hint: pawl resume %s\n", r.Run)
	default:
		fmt.Fprintln(a.Out, "Nothing was changed.", doubts(r.Parts, o))
		fmt.Fprintf(a.Err, "pawl: hint: %s --accept\n", again)
	}
}

// doubts says what becomes of what is in doubt.
func doubts(parts []rebuild.Part, o recoverOptions) string {
	n := 0
	for _, p := range parts {
		if p.Status == rebuild.PartInDoubt && p.Confidence == rebuild.Likely {
			n++
		}
	}
	if n == 0 || o.trust == string(rebuild.Likely) {
		return "What is in doubt will be done again, or asked about."
	}
	return fmt.Sprintf("What is in doubt will be done again, or asked about; --trust likely believes %d of it.", n)
}

// shortened returns the parts without the items that are beyond doubt: their step counts them.
func shortened(parts []rebuild.Part) []rebuild.Part {
	var short []rebuild.Part
	for _, p := range parts {
		if p.What != "item" || p.Confidence != rebuild.Certain || p.Status == rebuild.PartInDoubt {
			short = append(short, p)
		}
	}
	return short
}

func (a *app) printPart(p rebuild.Part) {
	name := p.What
	if p.Step != "" {
		name += " " + pawl.AttemptRef{Step: p.Step, Item: p.Item}.Name()
	}
	status := string(p.Status)
	if p.Claim != "" && p.Status == rebuild.PartInDoubt {
		status += " (" + string(p.Claim) + "?)"
	}
	text := strings.Join(p.Evidence, "; ")
	if p.Text != "" {
		text = p.Text + ": " + text
	}
	fmt.Fprintf(a.Out, "  %-7s  %-20s  %-17s  %s\n", p.Confidence, name, status, text)
}
