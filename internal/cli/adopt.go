package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli/helptext"
	"pawl/internal/cli/permission"
	"pawl/internal/cli/trustview"
	"pawl/internal/project"
	"pawl/internal/runs"
)

func (a *app) adoptCommand() *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use:   "adopt [RUN]",
		Short: "Accept a run that was made elsewhere, so that it can be resumed here",
		Long: "Accept a run that was made elsewhere, so that it can be resumed here\n\nA run that was imported, pulled with git or copied from another machine is unverified: pawl does not resume it.\n" +
			"adopt shows its steps with their commands and prompts, which of them are finished, and the answers in its\n" +
			"journal. It asks for confirmation.",
		Args: atMostOne,
		RunE: func(c *cobra.Command, args []string) error { return a.adopt(c.Context(), optional(args, 0), yes) },
	}
	yesFlag(c, &yes, helptext.Confirm)
	return a.jsonFlag(c)
}

func (a *app) adopt(ctx context.Context, name string, yes bool) error {
	p, err := a.project()
	if err != nil {
		return err
	}
	run, err := runs.FindRun(ctx, p, name)
	if err != nil {
		return err
	}
	shown, err := adoptionOf(ctx, p, run)
	if err != nil {
		return err
	}
	if shown.Reason == "" {
		if a.json {
			return a.printJSON(shown)
		}
		_, err := fmt.Fprintf(a.Out, "run %s is yours already\n", shown.Run)
		return err
	}
	if err := a.adoptShown(p, shown, yes); err != nil {
		return err
	}
	if a.json {
		shown.Reason = ""
		return a.printJSON(shown)
	}
	return shown.PrintNext(a.Out)
}

// adoptShown asks, unless yes is set, and adopts the run.
func (a *app) adoptShown(p *project.Project, shown trustview.Adoption, yes bool) error {
	if !yes {
		shown.Print(a.Out)
		if err := a.confirm("this would adopt run "+string(shown.Run), "Adopt this run?"); err != nil {
			return err
		}
	}
	if err := runs.Adopt(p, shown.Run); err != nil || a.json {
		return err
	}
	_, err := fmt.Fprintf(a.Out, "adopted run %s\n", shown.Run)
	return err
}

// adoptImported shows an imported run and asks a person to adopt it, unless the user did so before.
func (a *app) adoptImported(ctx context.Context, p *project.Project, run pawl.RunID) error {
	if err := (permission.Verb{Name: "adopt", ForPerson: true}).Check(a.caller()); err != nil {
		return err
	}
	shown, err := adoptionOf(ctx, p, run)
	if err != nil || shown.Reason == "" {
		return err
	}
	return a.adoptShown(p, shown, false)
}

// adoptionOf returns what a person should see of a run before adopting it, also of one with a damaged journal.
func adoptionOf(ctx context.Context, p *project.Project, run pawl.RunID) (trustview.Adoption, error) {
	r, err := runs.Load(ctx, p, run)
	if pawl.KindOf(err) == pawl.KindDamaged && !errors.Is(err, pawl.ErrNewer) {
		return trustview.DamagedOf(p, run, err)
	}
	if err != nil {
		return trustview.Adoption{}, err
	}
	defer r.Log.Close()
	return trustview.AdoptionOf(p, r)
}
