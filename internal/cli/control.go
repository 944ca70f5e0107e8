package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli/helptext"
	"pawl/internal/cli/outcome"
	"pawl/internal/runs"
)

func (a *app) pauseCommand() *cobra.Command {
	var why string
	c := &cobra.Command{
		Use:   "pause [RUN]",
		Short: "Pause a run: running steps finish, no new ones start",
		Args:  atMostOne,
		RunE: func(c *cobra.Command, args []string) error {
			_, r, err := a.perform(c.Context(), optional(args, 0), runs.Pause(why))
			if err != nil {
				return err
			}
			defer r.Log.Close()
			fmt.Fprintln(a.Out, outcome.Paused(r.State.Run, len(r.State.Live())))
			a.hintContinue(r.State)
			return nil
		},
	}
	messageFlag(c, &why, "reason")
	return c
}

func (a *app) stopCommand() *cobra.Command {
	var why string
	c := &cobra.Command{
		Use:   "stop [RUN]",
		Short: "Stop a run and terminate its running steps",
		Long: "Stop a run and terminate its running steps\n\nThe kernels of the run end, too; their variables stay saved. pawl resume continues the run, and reruns the\n" +
			"terminated steps.",
		Args: atMostOne,
		RunE: func(c *cobra.Command, args []string) error {
			p, r, err := a.perform(c.Context(), optional(args, 0), runs.Stop(why))
			if err != nil {
				return err
			}
			defer r.Log.Close()
			fmt.Fprintln(a.Out, outcome.Stopping(r.State.Run, len(r.State.Live())))
			if err := runs.AwaitStop(c.Context(), p, r, func(text string) { fmt.Fprintf(a.Err, "pawl: %s\n", text) }); err != nil {
				return err
			}
			if n := len(r.State.Live()); n > 0 {
				fmt.Fprintln(a.Out, outcome.Stopped(r.State.Run, n))
			}
			a.hintContinue(r.State)
			return nil
		},
	}
	messageFlag(c, &why, "reason")
	return c
}

// hintContinue prints the command that continues a run, if there is one.
func (a *app) hintContinue(s *pawl.State) {
	if command := runs.ContinueCommand(s); command != "" {
		fmt.Fprintf(a.Err, "pawl: hint: %s\n", command)
	}
}

func (a *app) retryCommand() *cobra.Command {
	return a.stepCommand("retry STEP", "Queue a step to rerun (of a foreach step, only the items that are not done)", "queued for retry", new([]string), runs.Retry,
		"If a foreach step is done, all its items rerun.\n")
}

func (a *app) skipCommand() *cobra.Command {
	return a.workCommand("skip STEP", "Skip a step, or an item of a foreach step", "skipped", runs.Skip, "Steps that need the skipped step still run.\n")
}

func (a *app) doneCommand() *cobra.Command {
	return a.workCommand("done STEP", "Mark a step or item as done without another attempt", "marked as done", runs.Done,
		"Use it for a step that took effect although its attempt crashed or failed, or that was done before pawl import. The steps that it\n"+
			"needs must be finished. The declared outputs must exist and are recorded; acceptance checks do not run.\n")
}

// workCommand builds a command that acts on a step, or on the items that --item names.
func (a *app) workCommand(use, short, done string, act func(id pawl.StepID, items []string, why string) runs.Act, about string) *cobra.Command {
	var items []string
	c := a.stepCommand(use, short, done, &items, func(id pawl.StepID, why string) runs.Act { return act(id, items, why) }, about)
	c.Flags().StringArrayVar(&items, "item", nil, "only this item of a foreach step; can be repeated")
	setPlaceholder(c, "item", "VALUE")
	return c
}

func (a *app) stepCommand(use, short, done string, items *[]string, act func(pawl.StepID, string) runs.Act, about string) *cobra.Command {
	var run, why string
	c := &cobra.Command{
		Use: use, Short: short, Long: short + "\n\n" + about + helptext.Effect, Args: exactArgs(a.stepArgument()),
		RunE: func(c *cobra.Command, args []string) error {
			p, r, err := a.perform(c.Context(), run, act(pawl.StepID(args[0]), why))
			if err != nil {
				return err
			}
			defer r.Log.Close()
			fmt.Fprintln(a.Out, outcome.Step(pawl.StepID(args[0]), *items, done, r.State.Run))
			if _, alive := p.EngineHolder(); !alive {
				a.hintContinue(r.State)
			}
			return nil
		},
	}
	runFlag(c, &run)
	messageFlag(c, &why, "reason")
	return c
}
