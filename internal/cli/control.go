package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/runs"
)

func (a *app) pauseCommand() *cobra.Command {
	var why string
	c := &cobra.Command{
		Use:   "pause [RUN]",
		Short: "Start nothing new; what runs runs on",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			_, r, err := a.perform(c.Context(), optional(args, 0), runs.Pause(why))
			if err != nil {
				return err
			}
			defer r.Log.Close()
			fmt.Fprintf(a.Out, "run %s paused; attempts still running: %d\n", r.State.Run, len(r.State.Live()))
			fmt.Fprintf(a.Err, "pawl: hint: pawl resume %s\n", r.State.Run)
			return nil
		},
	}
	c.Flags().StringVarP(&why, "message", "m", "", "why")
	return c
}

func (a *app) stopCommand() *cobra.Command {
	var why string
	c := &cobra.Command{
		Use:   "stop [RUN]",
		Short: "Start nothing new, and end what runs",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			p, r, err := a.perform(c.Context(), optional(args, 0), runs.Stop(why))
			if err != nil {
				return err
			}
			defer r.Log.Close()
			if _, alive := p.EngineHolder(); !alive {
				if err := runs.EndLive(p, r, "stopped by a person"); err != nil {
					return err
				}
			}
			fmt.Fprintf(a.Out, "run %s is stopping; attempts being ended: %d\n", r.State.Run, len(r.State.Live()))
			fmt.Fprintf(a.Err, "pawl: hint: pawl resume %s\n", r.State.Run)
			return nil
		},
	}
	c.Flags().StringVarP(&why, "message", "m", "", "why")
	return c
}

func (a *app) retryCommand() *cobra.Command {
	return a.onStep("retry STEP", "Have a step done again; of a work list, its failed items", "is to be done again", runs.Retry)
}

func (a *app) skipCommand() *cobra.Command {
	return a.onStep("skip STEP", "Go on without a step", "is skipped", runs.Skip)
}

func (a *app) onStep(use, short, done string, act func(pawl.StepID, string) runs.Act) *cobra.Command {
	var run, why string
	c := &cobra.Command{
		Use: use, Short: short, Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			p, r, err := a.perform(c.Context(), run, act(pawl.StepID(args[0]), why))
			if err != nil {
				return err
			}
			defer r.Log.Close()
			fmt.Fprintf(a.Out, "step %s %s (run %s)\n", args[0], done, r.State.Run)
			if _, alive := p.EngineHolder(); !alive {
				fmt.Fprintf(a.Err, "pawl: hint: pawl resume %s\n", r.State.Run)
			}
			return nil
		},
	}
	c.Flags().StringVar(&run, "run", "", "of this run (default: the current one)")
	c.Flags().StringVarP(&why, "message", "m", "", "why")
	return c
}
