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
		Short: "Disconnect an agent: remove what attach installed",
		Long: "Disconnect an agent: remove what attach installed\n\nAGENT is " + strings.Join(attach.Names(), ", ") + ".\n" +
			"A file that was not edited since attach is restored byte for byte. From an edited file, only pawl's entries are removed.",
		Example:           "  pawl detach claude --dry-run",
		Args:              exactArgs(agentArgument()),
		ValidArgsFunction: completeAgents,
		RunE: func(_ *cobra.Command, args []string) error {
			return a.applyAttach(o, func(place attach.Setup) (*attach.Edits, error) {
				return attach.Detach(args[0], attach.Scope(o.scope), place)
			})
		},
	}
	return a.jsonFlag(o.flags(c))
}
