package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"pawl/internal/cli/helptext"
	"pawl/internal/cli/hints"
)

// everyday are the commands that `pawl --help` lists, in this order. `pawl help all` lists all.
var everyday = []string{"run", "resume", "status", "watch", "gates", "approve", "brief", "checkpoint", "restore", "attach", "log", "doctor"}

// setHelp makes `pawl --help` short, and adds `pawl help all`.
func setHelp(root *cobra.Command) {
	fullHelp, usage := root.HelpFunc(), root.UsageFunc()
	root.SetUsageFunc(func(c *cobra.Command) error {
		out, text := c.OutOrStderr(), &strings.Builder{}
		c.SetOut(text)
		err := usage(c)
		c.SetOut(out)
		fmt.Fprint(out, helptext.Usage(text.String(), c.CommandPath(), c.Annotations[helptext.Alone] != ""))
		return err
	})
	root.SetHelpFunc(func(c *cobra.Command, args []string) {
		if c == root {
			printEveryday(c)
			return
		}
		fullHelp(c, args)
	})
	root.SetHelpCommand(&cobra.Command{
		Use:   "help [COMMAND | all]",
		Short: "Describe a command, or list all commands",
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 && args[0] == "all" {
				fullHelp(root, args)
				_, err := fmt.Fprint(root.OutOrStdout(), "\n"+helptext.Names)
				return err
			}
			found, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return unknownTopic(root, args)
			}
			found.InitDefaultHelpFlag()
			return found.Help()
		},
	})
	root.SetHelpCommandGroupID(maintenance)
	root.SetCompletionCommandGroupID(maintenance)
}

// unknownTopic returns the error for help about an unknown command.
func unknownTopic(root *cobra.Command, args []string) error {
	hint := "pawl help all"
	if meant := hints.Meant(args[0], namesBelow(root)); len(args) == 1 && meant != "" {
		hint = "pawl help " + meant
	}
	return usageError(hint, "unknown command %q", strings.Join(args, " "))
}

// printEveryday prints the everyday commands.
func printEveryday(root *cobra.Command) {
	out := root.OutOrStdout()
	fmt.Fprintf(out, "%s\n\nUsage:\n  pawl COMMAND\n\nEveryday commands:\n", root.Long)
	for _, name := range everyday {
		if c, _, err := root.Find([]string{name}); err == nil {
			fmt.Fprintf(out, "  %-12s %s\n", name, c.Short)
		}
	}
	fmt.Fprintf(out, "\nFlags:\n%s\n", root.Flags().FlagUsages())
	fmt.Fprintln(out, "`pawl help all` lists all commands. `pawl COMMAND --help` describes one.")
}

// namesBelow returns the names and aliases of the commands below c that users call.
func namesBelow(c *cobra.Command) []string {
	var names []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			names = append(append(names, sub.Name()), sub.Aliases...)
		}
	}
	return names
}
