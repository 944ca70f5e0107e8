package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"pawl/internal/cli/trustview"
	"pawl/internal/project"
	"pawl/internal/runs"
	"pawl/internal/trust"
)

func (a *app) trustCommand() *cobra.Command {
	var yes, list, revoke bool
	c := &cobra.Command{
		Use:   "trust [FOLDER]",
		Short: "Trust a project that you did not create with pawl, such as a clone",
		Long: "Trust a project that you did not create with pawl, such as a clone\n\nShows what would count from then on (commands in the settings, runs, memories), and asks.\n" +
			"Until then pawl executes nothing of the project, writes nothing there, and tells agents nothing from it.\n" +
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
	c.Flags().BoolVar(&yes, "yes", false, "trust the project without asking")
	c.Flags().BoolVar(&list, "list", false, "list the projects that you trust")
	c.Flags().BoolVar(&revoke, "revoke", false, "trust the project no longer")
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
	if a.json {
		return a.printJSON(a.trustReport(ctx, p))
	}
	_, err = fmt.Fprintf(a.Out, "%s is trusted now\n", p.Root)
	return err
}

func (a *app) trustReport(ctx context.Context, p *project.Project) trustview.Project {
	var made []trustview.Run
	ids, _ := runs.List(p) // unreadable runs do not count
	for _, id := range ids {
		made = append(made, trustview.Run{Run: id, Status: a.runReport(ctx, p, id).Status})
	}
	return trustview.ProjectOf(p, made)
}

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
	all, _ := trust.List() // an unreadable record counts for nothing
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
