package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"pawl/internal/attach"
)

func (a *app) detachCommand() *cobra.Command {
	var o attachOptions
	c := &cobra.Command{
		Use:   "detach AGENT",
		Short: "Take out of an agent's settings what attach put there",
		Long: "Take out of an agent's settings what attach put there\n\nAGENT is " + strings.Join(attach.Names(), ", ") + ". Files that nobody has edited since\n" +
			"are as they were before, byte for byte; of others only what is pawl's goes.",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeAgents,
		RunE: func(_ *cobra.Command, args []string) error {
			return a.applyAttach(o, func(place attach.Place) (*attach.Deed, error) {
				return attach.Detach(args[0], attach.Scope(o.scope), place)
			})
		},
	}
	return a.jsonFlag(o.flags(c))
}
