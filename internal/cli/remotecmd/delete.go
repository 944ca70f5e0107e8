package remotecmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli/layout"
	"pawl/internal/transfer"
)

const deleteLong = "Delete a run from a remote\n\n" +
	"delete deletes all pushes of a run. What this project has of the run stays, and can be pushed again. Other projects that have the run\n" +
	"can no longer push it. pawl remote prune frees the space.\n\n" +
	"If several machines have pushed a run at the same time, --push deletes one of these pushes: pawl remote runs shows them."

func (x *Commands) deleteCommand() *cobra.Command {
	var hash string
	var yes bool
	c := &cobra.Command{
		Use:     "delete RUN",
		Short:   "Delete a run from a remote",
		Long:    deleteLong,
		Example: "  pawl remote delete build-20260101-120000-a1b2 --yes\n  pawl remote delete build-20260101-120000-a1b2 --push 0123456789abcdef --yes",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return x.connected(c.Context(), []string{x.remote}, func(from *transfer.Connection) error {
				run, err := from.Resolve(c.Context(), args[0])
				if err != nil {
					return err
				}
				if !yes {
					return &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("this deletes run %s from %s; pass --yes", run, from.URL)}
				}
				deleted, err := from.DeleteRun(c.Context(), run, hash)
				if err != nil {
					return err
				}
				return x.print(Deleted{run, deleted}, func() error {
					_, err := fmt.Fprintf(x.Out, "deleted %s of run %s from %s\n", layout.Count(deleted, "push"), run, from.Name)
					return err
				})
			})
		},
	}
	c.Flags().StringVar(&hash, "push", "", "delete only the push whose SHA-256 begins with `HASH`, of several with the same number")
	c.Flags().BoolVar(&yes, "yes", false, "delete it")
	return x.remoteFlag(c, "delete from the remote `NAME`")
}

// Deleted is the result of pawl remote delete.
type Deleted struct {
	Run    pawl.RunID `json:"run"`
	Pushes int        `json:"pushes"`
}
