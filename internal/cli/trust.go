package cli

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/caller"
	"pawl/internal/cli/helptext"
	"pawl/internal/cli/layout"
	"pawl/internal/cli/trustview"
	"pawl/internal/config"
	"pawl/internal/project"
	"pawl/internal/runs"
	"pawl/internal/trust"
)

func (a *app) trustCommand() *cobra.Command {
	var yes, list, revoke bool
	c := &cobra.Command{
		Use:   "trust [FOLDER]",
		Short: "Trust a project that you did not create with pawl, such as a clone",
		Long: "Trust a project that you did not create with pawl, such as a clone\n\ntrust shows what pawl would use from then on: commands in the settings, runs with their plans and mirrors, notes. It asks for\n" +
			"confirmation. Until then pawl executes nothing of the project, writes nothing there, and sends agents nothing from it.\n" +
			"A project that pawl created for you is trusted already.",
		Example: "  pawl trust\n  pawl trust --yes && pawl run plan.yaml\n  pawl trust --list",
		Args:    atMostOne,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 && !filepath.IsAbs(args[0]) {
				args[0] = filepath.Join(a.folder, args[0])
			}
			switch {
			case list:
				return a.listTrusted()
			case revoke:
				return a.revokeTrust(optional(args, 0))
			}
			return a.trust(c.Context(), optional(args, 0), yes)
		},
	}
	yesFlag(c, &yes, helptext.Confirm)
	c.Flags().BoolVar(&list, "list", false, "list the projects that you trust")
	c.Flags().BoolVar(&revoke, "revoke", false, "stop trusting the project")
	c.MarkFlagsMutuallyExclusive("yes", "list", "revoke")
	return a.jsonFlag(c)
}

// find returns the project that contains a folder; empty means the current one.
func (a *app) find(folder string) (*project.Project, error) {
	if folder == "" {
		var err error
		if folder, err = a.here(); err != nil {
			return nil, err
		}
	}
	return project.Find(folder)
}

func (a *app) trust(ctx context.Context, folder string, yes bool) error {
	p, err := a.find(folder)
	if err != nil {
		return err
	}
	report := a.trustReport(ctx, p)
	if report.Trusted && len(report.Settings) == 0 {
		if a.json {
			return a.printJSON(report)
		}
		_, err := fmt.Fprintf(a.Out, "%s is trusted already\n", p.Root)
		return err
	}
	if err := runs.MayTrust(ctx, p); err != nil {
		return err
	}
	if !yes {
		report.Print(a.Out)
		if err := a.confirm("this would trust "+p.Root, "Trust this project?"); err != nil {
			return err
		}
	}
	if err := runs.Trust(ctx, p, time.Now()); err != nil {
		return err
	}
	a.register(p)
	report = a.trustReport(ctx, p)
	if a.json {
		return a.printJSON(report)
	}
	fmt.Fprintf(a.Out, "%s is trusted now\n", p.Root)
	if n := len(report.ToAdopt); n > 0 {
		a.printNotes([]string{layout.Count(n, "run") + " found here; before you resume one, adopt it: " + report.Adopt()})
	}
	return nil
}

// inherit trusts a project that an older pawl registered for this user, if an agent's own settings show the user's consent, or if the
// user says yes, who is asked once. Otherwise it returns why the project is not trusted.
func (a *app) inherit(c *cobra.Command, p *project.Project) error {
	ctx, refusal := c.Context(), p.Trusted()
	who, _ := a.caller()
	if dry := c.Flags().Lookup("dry-run"); dry != nil && dry.Changed || who.Kind == caller.Step || !runs.Candidate(ctx, p) {
		return refusal
	}
	setup, err := a.attachSetup()
	if err != nil {
		return err
	}
	setup.Root = p.Root
	trusting := runs.Trust
	if shown := setup.Consent(); shown != "" {
		a.printNotes([]string{fmt.Sprintf("trusting %s, which an earlier pawl registered: %s shows that you attached an agent there", p.Root, shown)})
		trusting = runs.Inherit
	} else if yes, err := a.askInherited(ctx, p, who); err != nil || !yes {
		return cmp.Or(err, refusal)
	}
	if err := trusting(ctx, p, time.Now()); err != nil {
		return err
	}
	a.register(p)
	return nil
}

// askInherited asks the user once, on a terminal, about a project of an older pawl.
func (a *app) askInherited(ctx context.Context, p *project.Project, who caller.Caller) (yes bool, err error) {
	if _, asked := p.Inherited(); asked || a.json || who.Kind != caller.Person || !a.interactive() {
		return false, nil
	}
	a.trustReport(ctx, p).Print(a.Out)
	fmt.Fprintln(a.Out, "An earlier pawl, which did not ask for trust, registered this project for you.")
	if yes, err = layout.AskYesNo(a.In, a.Out, "Trust this project?", false); err != nil || yes {
		return yes, err
	}
	return false, p.Decline(time.Now())
}

// trustReport returns what pawl would use of a project, or uses of a trusted one. Runs that an older pawl registered need no adoption.
func (a *app) trustReport(ctx context.Context, p *project.Project) trustview.Project {
	var made []trustview.Run
	var toAdopt []pawl.RunID
	ids, _ := runs.List(p) // unreadable runs are left out
	yours := runs.Candidate(ctx, p)
	for _, id := range ids {
		report := a.runReport(ctx, p, id)
		made = append(made, trustview.RunOf(id, report.Status, report.State))
		if !yours && runs.RequireOwn(p, id) != nil {
			toAdopt = append(toAdopt, id)
		}
	}
	return trustview.ProjectOf(p, made, toAdopt)
}

// noteWithheld says that the evaluator of the project's settings is not used, if it is not.
func (a *app) noteWithheld(p *project.Project) {
	if p.Trust.Trusted() && len(config.Withheld(p)) > 0 {
		a.printNotes([]string{withheld + "; to see and allow it: pawl trust"})
	}
}

// withheld says that a committed evaluator is not asked.
const withheld = "the evaluator in " + ".pawl/config.yaml" + " is not used: you have not allowed it as it is now"

func (a *app) listTrusted() error {
	all, err := trust.List()
	if err != nil {
		a.printNotes([]string{err.Error()})
	}
	lines := trustview.TrustedOf(all)
	if a.json {
		return a.printJSON(lines)
	}
	trustview.PrintTrusted(a.Out, lines)
	return nil
}

func (a *app) revokeTrust(folder string) error {
	all, _ := trust.List() // an unreadable record counts as not trusted
	if folder != "" || a.folder != "" {
		for _, s := range all {
			if s.Path == filepath.Clean(folder) {
				return a.revoked(s)
			}
		}
	}
	p, err := a.find(folder)
	if err != nil {
		return err
	}
	for _, s := range all {
		if s.Path == p.Root {
			return a.revoked(s)
		}
	}
	_, err = fmt.Fprintf(a.Out, "%s is not trusted\n", p.Root)
	return err
}

func (a *app) revoked(s trust.Standing) error {
	if err := project.Revoke(s); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.Out, "%s is no longer trusted\n", s.Path)
	return err
}
