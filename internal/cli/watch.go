package cli

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli/hints"
	"pawl/internal/cli/liveview"
	"pawl/internal/cli/signals"
	"pawl/internal/project"
	"pawl/internal/runs"
)

func (a *app) watchCommand() *cobra.Command {
	var mode liveview.OutputMode
	c := &cobra.Command{
		Use:   "watch [RUN]",
		Short: "Follow a run live",
		Args:  atMostOne,
		RunE: func(c *cobra.Command, args []string) error {
			p, r, err := a.loadRun(c.Context(), optional(args, 0))
			if err != nil {
				return err
			}
			defer r.Log.Close()
			if err := runs.RequireOwn(p, r.State.Run); err != nil { // no engine works on it
				return err
			}
			soft, _, release := signals.Contexts(c.Context())
			defer release()
			return hints.For(c.Context(), p, r.State.Run, a.watch(soft, p, r, mode))
		},
	}
	outputFlag(c, &mode)
	return c
}

// watch shows a run until it ends, stops, or the user presses Ctrl-C.
func (a *app) watch(ctx context.Context, p *project.Project, r *runs.Run, mode liveview.OutputMode) error {
	show := liveview.New(a.Out, a.Err, p, mode)
	show.Begin(r.State, r.Plan)
	changed := r.Log.Watch(ctx)
	for {
		show.CheckSpace()
		holder, alive := p.EngineHolder() // before the events: an engine journals the end of its run before it leaves
		events, err := r.Log.NewEvents()
		for _, e := range events {
			r.State.Apply(e)
			show.Notify(e)
		}
		if err == nil && (!alive || !holder.WorksOn(r.State)) && !anyAlive(p, r.State) {
			return show.End(ctx, r.State, r.Plan, outcomeOf(r))
		}
		if err != nil {
			return show.End(ctx, r.State, r.Plan, err)
		}
		select {
		case <-changed:
		case <-time.After(time.Second):
		case <-ctx.Done():
			_ = show.End(ctx, r.State, r.Plan, ctx.Err()) // the user ended it
			return nil
		}
	}
}

// anyAlive reports whether an attempt of a run is alive that comes to an end by itself. Without an engine, the ends of attempts are not journaled.
func anyAlive(p *project.Project, s *pawl.State) bool {
	return slices.ContainsFunc(s.Working(), func(l *pawl.AttemptState) bool { return runs.AttemptAlive(p.AttemptDir(l.AttemptRef, s.Run)) })
}

// outcomeOf returns the error with which an engine would have stopped a run that no engine works on.
func outcomeOf(r *runs.Run) error {
	switch s := r.State; s.StatusNow(false) {
	case pawl.StatusCompleted, pawl.StatusActive: // sessions are active without an engine
		return nil
	case pawl.StatusFailed:
		return &pawl.Error{Kind: pawl.KindRunFailed, Err: errors.New("run failed: " + s.Why), Hint: s.AfterFailure(r.Plan)}
	case pawl.StatusWaiting:
		return &pawl.Error{Kind: pawl.KindAtGate, Err: errors.New("waiting for approval or review"), Hint: "pawl gates"}
	}
	return &pawl.Error{Kind: pawl.KindAtGate, Err: errors.New("no engine is working on the run"), Hint: "pawl resume " + string(r.State.Run)}
}
