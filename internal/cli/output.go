package cli

import (
	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli/hints"
	"pawl/internal/cli/outputview"
	"pawl/internal/cli/signals"
)

func (a *app) outputCommand() *cobra.Command {
	var run, item string
	var follow bool
	var o outputview.Options
	var attempt int
	c := &cobra.Command{
		Use: "output STEP", Aliases: []string{"logs"},
		Short: "Show the output of a step; recognized secrets are redacted",
		Args:  exactArgs(a.stepArgument()),
		RunE: func(c *cobra.Command, args []string) error {
			p, r, err := a.loadRun(c.Context(), run)
			if err != nil {
				return err
			}
			defer r.Log.Close()
			ref := pawl.AttemptRef{Step: pawl.StepID(args[0]), Item: pawl.ItemID(item), Attempt: attempt}
			if item != "" {
				ref.Item = pawl.ItemIDOf(item)
			}
			o.Notes = a.Err
			if follow {
				soft, _, release := signals.Contexts(c.Context())
				defer release()
				return hints.For(c.Context(), p, r.State.Run, outputview.Follow(soft, a.Out, p, r, ref, o))
			}
			path, err := outputview.Path(p, r, ref, o)
			if err == nil {
				err = outputview.Copy(a.Out, path, o)
			}
			return hints.For(c.Context(), p, r.State.Run, err)
		},
	}
	runFlag(c, &run)
	textFlag(c, &item, "item", "VALUE", "the item; required for a foreach step, except with --follow")
	numberVar(c, &attempt, "attempt", "", 0, 1, "show attempt `N` (default: the newest)")
	c.Flags().BoolVarP(&follow, "follow", "f", false, "follow the output until the step ends, through all its attempts; without --item, follow all items of a foreach step")
	c.Flags().BoolVar(&o.Raw, "raw", false, "show the output as it was written, with secrets")
	c.Flags().BoolVar(&o.Stderr, "stderr", false, "show standard error instead of standard output")
	return c
}
