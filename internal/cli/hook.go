package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"pawl/internal/agents"
)

// hookCommand only explains: main serves hooks before the command line is built.
func (a *app) hookCommand() *cobra.Command {
	var names []string
	for _, d := range agents.Dialects {
		names = append(names, d.Name)
	}
	return &cobra.Command{
		Use:   "hook AGENT",
		Short: "Called by agents: journal what they do, and tell them what they have to know",
		Long: "Called by agents: journal what they do, and tell them what they have to know\n\nAGENT is " + strings.Join(names, ", ") +
			". The payload comes from standard input, and the answer goes to standard output, as that agent's\nhooks have them. " +
			"The exit code is always 0. What goes wrong is said in .pawl/hook.log. `pawl attach AGENT` installs it.",
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return usageError("pawl hook --help", "%q is not an agent: use one of %s", args[0], strings.Join(names, ", "))
		},
	}
}
