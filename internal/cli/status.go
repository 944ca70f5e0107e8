package cli

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli/hints"
	"pawl/internal/cli/statusview"
	"pawl/internal/discover"
	"pawl/internal/interop"
	"pawl/internal/project"
	"pawl/internal/runs"
)

func (a *app) statusCommand() *cobra.Command {
	return a.jsonFlag(a.readRunCommand("status [RUN]", "Show the status of a run", func(ctx context.Context, p *project.Project, r *runs.Run) error {
		report := statusview.Of(p, r)
		report.NameRun(hints.NamerOf(ctx, p, r))
		report.AddSessions(ctx, p, r.State)
		report.Importable = discover.Unimported(ctx, p)
		report.CheckGates(p, r)
		if err := report.AddRestore(ctx, p); err != nil {
			return err
		}
		if !report.Unverified { // a journal from elsewhere names files to write
			a.refresh(ctx, p, r, report.Status == pawl.StatusInterrupted)
		}
		if a.json {
			return a.printJSON(report)
		}
		if err := report.Print(a.Out); err != nil || !report.Unverified {
			return err
		}
		_, err := fmt.Fprintf(a.unquoted(), "\n%s\n", cmp.Or(pawl.HintOf(p.Trusted()), "pawl adopt "+string(r.State.Run)))
		return err
	}))
}

// refresh writes the files that an interrupted run, or a failed update, left out of date.
func (a *app) refresh(ctx context.Context, p *project.Project, r *runs.Run, interrupted bool) {
	if interrupted {
		a.refreshViews(p, r)
	}
	if interrupted || interop.MirrorFailed(p, r.State) {
		a.refreshMirror(ctx, p, r)
	}
}

// readRunCommand builds a command that loads a run, by default the current one, and shows something of it.
func (a *app) readRunCommand(use, short string, show func(context.Context, *project.Project, *runs.Run) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: atMostOne,
		RunE: func(c *cobra.Command, args []string) error {
			p, r, err := a.loadRun(c.Context(), optional(args, 0))
			if err != nil {
				return err
			}
			defer r.Log.Close()
			return hints.For(c.Context(), p, r.State.Run, show(c.Context(), p, r))
		},
	}
}

// refreshViews writes the views of a run whose engine crashed. A failure is only noted, since the command prints the status.
func (a *app) refreshViews(p *project.Project, r *runs.Run) {
	if err := runs.WriteViews(p, r); err != nil {
		fmt.Fprintf(a.Err, "pawl: note: views: %v\n", err)
	}
}

// loadRun loads a run for reading.
func (a *app) loadRun(ctx context.Context, name string) (*project.Project, *runs.Run, error) {
	p, err := a.project()
	if err != nil {
		return nil, nil, err
	}
	r, err := a.loadNamedRun(ctx, p, name)
	return p, r, err
}
