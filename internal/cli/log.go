package cli

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli/layout"
	"pawl/internal/cli/logview"
	"pawl/internal/project"
	"pawl/internal/runs"
)

func (a *app) logCommand() *cobra.Command {
	var last int
	var graph, all, follow bool
	c := a.readRunCommand("log [RUN]", "Show the event log", func(ctx context.Context, p *project.Project, r *runs.Run) error {
		after := pawl.Seq(0)
		if last > 0 {
			after = max(0, r.State.Seq-pawl.Seq(last))
		}
		after, err := a.printLog(r, after)
		if err != nil || !follow {
			return err
		}
		soft, _, release := interrupts(ctx)
		defer release()
		return a.followLog(soft, r, after)
	})
	events := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		if graph {
			return a.graph(c.Context(), optional(args, 0), all)
		}
		if all {
			return usageError("pawl log --graph --all", "--all needs --graph")
		}
		return events(c, args)
	}
	numberVar(c, &last, "last", "n", 0, 1, "show only the last `N` events")
	c.Flags().BoolVarP(&follow, "follow", "f", false, "show new events until the run ends")
	c.Flags().BoolVar(&graph, "graph", false, "draw the checkpoints with forks and restores, newest first")
	c.Flags().BoolVar(&all, "all", false, "with --graph: include runs that are not related by forks")
	c.MarkFlagsMutuallyExclusive("graph", "follow")
	return a.jsonFlag(c)
}

// printLog prints the events after one, and returns the last.
func (a *app) printLog(r *runs.Run, after pawl.Seq) (last pawl.Seq, err error) {
	out, flush := layout.Buffered(a.Out)
	last = after
	for e, err := range r.Log.Events(after) {
		if err == nil {
			last, err = e.Seq, a.printEvent(out, e)
		}
		if err != nil {
			return last, errors.Join(err, flush())
		}
	}
	return last, flush()
}

// followLog prints the events after one as they come, until the run has ended or ctx does.
func (a *app) followLog(ctx context.Context, r *runs.Run, after pawl.Seq) error {
	changed := r.Log.Watch(ctx)
	for {
		events, err := r.Log.NewEvents()
		for _, e := range events {
			r.State.Apply(e)
			if e.Seq > after {
				err = errors.Join(err, a.printEvent(a.Out, e))
			}
		}
		if err != nil || r.State.Ended() && r.State.Engine == nil {
			return err
		}
		select {
		case <-changed:
		case <-time.After(time.Second):
		case <-ctx.Done():
			return nil
		}
	}
}

// printEvent prints an event as one line: in words, or with --json as it is.
func (a *app) printEvent(w io.Writer, e pawl.Event) error {
	if !a.json {
		return logview.Print(w, e)
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(e)
}
