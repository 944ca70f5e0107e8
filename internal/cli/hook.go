package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"pawl/internal/agents"
)

// hookCommand documents the hook. Package faststart runs it before the command line is built.
func (a *app) hookCommand() *cobra.Command {
	var names []string
	for _, d := range agents.Dialects {
		names = append(names, d.Name)
	}
	return &cobra.Command{
		Use:    "hook AGENT",
		Hidden: true,
		Short:  "Agent hook entry point (called by the agent, not by you)",
		Long: "Agent hook entry point (called by the agent, not by you)\n\nAGENT is " + strings.Join(names, ", ") +
			". hook reads the payload from standard input and\nwrites the answer to standard output, in the agent's format. " +
			"The exit code is always 0; errors go to\n.pawl/hook.log. `pawl attach AGENT` installs the hook.",
		Args: exactArgs(agentArgument()),
		RunE: func(_ *cobra.Command, args []string) error {
			return usageError("pawl hook --help", "unknown agent %q; supported: %s", args[0], strings.Join(names, ", "))
		},
	}
}
