package cli

import (
	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli/hints"
	"pawl/internal/cli/outputview"
)

func (a *app) outputCommand() *cobra.Command {
	var run, item string
	var follow, stderr, raw bool
	var attempt int
	c := &cobra.Command{
		Use:   "output STEP",
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
			path, err := outputview.Path(p, r, ref, stderr)
			if err != nil {
				return hints.For(c.Context(), p, r.State.Run, err)
			}
			soft, _, release := interrupts(c.Context())
			defer release()
			return hints.For(c.Context(), p, r.State.Run, outputview.Copy(soft, a.Out, path, follow, raw))
		},
	}
	runFlag(c, &run)
	textFlag(c, &item, "item", "VALUE", "the item (required for a foreach step)")
	numberVar(c, &attempt, "attempt", "", 0, 1, "show attempt `N` (default: the newest)")
	c.Flags().BoolVarP(&follow, "follow", "f", false, "follow until the attempt ends")
	c.Flags().BoolVar(&raw, "raw", false, "show the output as it was written, with secrets")
	c.Flags().BoolVar(&stderr, "stderr", false, "show standard error instead of standard output")
	return c
}
