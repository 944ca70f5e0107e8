package cli

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/project"
	"pawl/internal/runs"
)

func (a *app) watchCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "watch [RUN]",
		Short: "Show a run live, whoever carries it on",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			p, r, err := a.loadRun(c.Context(), optional(args, 0))
			if err != nil {
				return err
			}
			defer r.Log.Close()
			soft, _, release := interrupts(c.Context(), func() {})
			defer release()
			return a.watch(soft, p, r)
		},
	}
}

// watch shows a run until it has ended, has stopped for a person, or the user has seen enough.
func (a *app) watch(ctx context.Context, p *project.Project, r *runs.Run) error {
	show := newLive(a, p)
	show.begin(r.State, r.Plan)
	changed := r.Log.Watch(ctx)
	for {
		news, err := r.Log.News()
		for _, e := range news {
			r.State.Apply(e)
			show.notify(e)
		}
		holder, alive := p.EngineHolder()
		if err == nil && (!alive || holder.Run != r.State.Run) && len(r.State.Live()) == 0 {
			err = outcomeOf(r.State)
			show.end(r.State, r.Plan, err)
			return err
		}
		if err != nil {
			show.end(r.State, r.Plan, err)
			return err
		}
		select {
		case <-changed:
		case <-time.After(time.Second):
		case <-ctx.Done():
			show.end(r.State, r.Plan, ctx.Err())
			return nil
		}
	}
}

// outcomeOf says how a run that nobody works on stands, as an engine would.
func outcomeOf(s *pawl.State) error {
	switch s.StatusNow(false) {
	case pawl.StatusCompleted, pawl.StatusActive: // a session is active without an engine
		return nil
	case pawl.StatusFailed:
		return &pawl.Error{Kind: pawl.KindRunFailed, Err: errors.New("run failed: " + s.Why), Hint: "pawl status"}
	case pawl.StatusWaiting:
		return &pawl.Error{Kind: pawl.KindAtGate, Err: errors.New("run waits for a person"), Hint: "pawl gates"}
	}
	return &pawl.Error{Kind: pawl.KindAtGate, Err: errors.New("no engine works on this run"), Hint: "pawl resume " + string(s.Run)}
}
