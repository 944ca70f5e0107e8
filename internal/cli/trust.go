package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli/layout"
	"pawl/internal/config"
	"pawl/internal/project"
	"pawl/internal/runs"
	"pawl/internal/trust"
)

// trustReport is what "pawl trust" shows of a project before it asks.
type trustReport struct {
	Project  string       `json:"project"` // path
	Trusted  bool         `json:"trusted"`
	Reason   string       `json:"reason,omitempty"`   // why it is not trusted
	Settings []string     `json:"settings,omitempty"` // settings that name a command, a URL or a model
	Runs     []trustedRun `json:"runs,omitempty"`
	Memories int          `json:"memories,omitempty"` // entries of MEMORY.md
	Since    *time.Time   `json:"since,omitempty"`    // of a trusted one
}

// trustedRun is a run in a trustReport.
type trustedRun struct {
	Run    pawl.RunID     `json:"run"`
	Status pawl.RunStatus `json:"status"`
}

func (a *app) trustCommand() *cobra.Command {
	var yes, list, revoke bool
	c := &cobra.Command{
		Use:   "trust [FOLDER]",
		Short: "Trust a project that you did not create with pawl, such as a clone",
		Long: "Shows what would count from then on (commands in the settings, runs, memories), and asks.\n" +
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
		a.printTrustReport(report)
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

// trustReport collects what would count in a project. What cannot be read is left out: it does not count.
func (a *app) trustReport(ctx context.Context, p *project.Project) trustReport {
	r := trustReport{Project: p.Root, Trusted: p.Trust.Trusted(), Reason: p.Trust.Reason}
	if r.Trusted {
		r.Since = &p.Trust.Since
	}
	r.Settings = config.Withheld(p)
	ids, _ := runs.List(p)
	for _, id := range ids {
		r.Runs = append(r.Runs, trustedRun{id, a.runReport(ctx, p, id).Status})
	}
	memories, _ := p.OwnMemories()
	r.Memories = len(memories)
	return r
}

func (a *app) printTrustReport(r trustReport) {
	fmt.Fprintf(a.Out, "%s: %s\n", r.Project, r.Reason)
	fmt.Fprintln(a.Out, "If you trust it, this counts from now on:")
	for _, s := range r.Settings {
		fmt.Fprintf(a.Out, "  setting  %s\n", s)
	}
	for _, run := range r.Runs {
		fmt.Fprintf(a.Out, "  run      %s (%s)\n", run.Run, run.Status)
	}
	fmt.Fprintf(a.Out, "  memory   %s of MEMORY.md\n", layout.Count(r.Memories, "entry"))
}

// trusted is a line of "pawl trust --list".
type trusted struct {
	Path    string    `json:"path"`
	Project string    `json:"project"`
	How     string    `json:"how"`
	Since   time.Time `json:"since"`
	Reason  string    `json:"reason,omitempty"` // why it does not count at the moment
}

func (a *app) listTrusted() error {
	all, err := trust.List()
	if err != nil {
		a.printNotes([]string{err.Error()})
	}
	lines := make([]trusted, 0, len(all))
	for _, s := range all {
		lines = append(lines, trusted{s.Path, s.Project, s.How, s.Since, s.Reason})
	}
	if a.json {
		return a.printJSON(lines)
	}
	if len(lines) == 0 {
		fmt.Fprintln(a.Out, "no trusted projects")
	}
	for _, l := range lines {
		fmt.Fprintf(a.Out, "%s  %s %s", l.Path, l.How, l.Since.Local().Format(time.DateOnly))
		if l.Reason != "" {
			fmt.Fprintf(a.Out, "  (does not count: %s)", l.Reason)
		}
		fmt.Fprintln(a.Out)
	}
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
