package cli

import (
	"context"
	"io"
	"os"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/caller"
	"pawl/internal/cli/helptext"
	"pawl/internal/cli/kernelcmd"
	"pawl/internal/cli/serving"
	"pawl/internal/cli/workercmd"
	"pawl/internal/runs"
)

// Courier carries the attempt that this process belongs to, to a worker of the queue in the user's database.
func Courier(ctx context.Context, out, errs io.Writer) error {
	open, closeAll := workercmd.Postgres(os.Getenv)
	defer closeAll()
	return workercmd.Courier(ctx, open, out, errs)
}

func (a *app) serveCommand() *cobra.Command {
	return serving.Commands{Out: a.Out, Err: a.Err, Serve: a.parts.Serve, Login: caller.Login, Folder: a.here}.Root()
}

func (a *app) kernelCommand() *cobra.Command {
	return (&kernelcmd.Commands{In: a.In, Out: a.Out, Err: a.Err, Find: a.project, Init: a.projectOrInit}).Root()
}

func (a *app) notebookCommand() *cobra.Command {
	var o runOptions
	run := new(kernelcmd.Notebook).Command(a.projectOrInit, a.here, func(c *cobra.Command, path string, plan []byte) error {
		o.path, o.write = path, plan
		n := runs.CreateOptions{Kind: pawl.PlanRun, Data: plan, Source: path}
		return a.whenFree(c.Context(), o.wait, func(ctx context.Context) error { return a.runPlan(ctx, n, o) })
	})
	run.Flags().BoolVar(&o.background, "background", false, "start the run in the background: print its id once it runs, and return")
	run.Flags().BoolVar(&o.fresh, "new", false, "archive the unfinished run of this notebook and start over")
	run.Flags().BoolVar(&o.takeOver, "take-over", false, helptext.TakeOver)
	waitFlag(run, &o.wait)
	outputFlag(run, &o.output)
	c := &cobra.Command{Use: "notebook", Short: "Execute notebooks, resumably"}
	c.AddCommand(a.eventsFlag(run))
	return c
}
