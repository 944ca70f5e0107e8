package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"pawl/internal/cli/trustview"
	"pawl/internal/runs"
)

func (a *app) adoptCommand() *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use:   "adopt [RUN]",
		Short: "Accept a run that was made elsewhere, so that it can be resumed here",
		Long: "A run that was imported, pulled with git or copied from another machine is unverified: pawl does not resume it.\n" +
			"adopt shows its steps with their commands and prompts, what counts as finished, and the answers in its journal, and asks.",
		Args: atMostOne,
		RunE: func(c *cobra.Command, args []string) error { return a.adopt(c.Context(), optional(args, 0), yes) },
	}
	c.Flags().BoolVar(&yes, "yes", false, "adopt the run without asking")
	return a.jsonFlag(c)
}

func (a *app) adopt(ctx context.Context, name string, yes bool) error {
	p, err := a.project()
	if err != nil {
		return err
	}
	r, err := a.loadNamedRun(ctx, p, name)
	if err != nil {
		return err
	}
	defer r.Log.Close()
	shown, err := trustview.AdoptionOf(p, r)
	if err != nil {
		return err
	}
	if shown.Reason == "" {
		if a.json {
			return a.printJSON(shown)
		}
		_, err := fmt.Fprintf(a.Out, "run %s is yours already\n", shown.Run)
		return err
	}
	if !yes {
		shown.Print(a.Out)
		if err := a.confirm("this would adopt run "+string(shown.Run), "Adopt this run?"); err != nil {
			return err
		}
	}
	if err := runs.Mark(p, shown.Run); err != nil {
		return err
	}
	if a.json {
		shown.Reason = ""
		return a.printJSON(shown)
	}
	fmt.Fprintf(a.Out, "adopted run %s\n", shown.Run)
	fmt.Fprintf(a.Out, "pawl resume %s\n", shown.Run)
	return nil
}
