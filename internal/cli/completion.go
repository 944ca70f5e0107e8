package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pawl/internal/cli/complete"
)

// setCompletions makes the shell complete the arguments and flags of c and the commands below it.
func (a *app) setCompletions(c *cobra.Command) {
	for _, name := range complete.Flags(c.Name()) {
		if c.Flags().Lookup(name) != nil {
			_ = c.RegisterFlagCompletionFunc(name, a.completeFlag(name)) // the flag exists, and this is its only function
		}
	}
	if c.Flags().Lookup("param") != nil {
		_ = c.RegisterFlagCompletionFunc("param", a.completeParam)
	}
	switch {
	case c.Name() == "run" || c.Name() == "check":
		c.ValidArgsFunction = completePlan
	case c.ValidArgsFunction == nil && len(c.ValidArgs) == 0 && !c.HasSubCommands():
		c.ValidArgsFunction = a.completeArgument
	}
	for _, sub := range c.Commands() {
		a.setCompletions(sub)
	}
}

func (a *app) completeArgument(c *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	list, files := a.completionSource(c).Argument(c.Context(), c.Name(), args)
	if files {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return matching(list, prefix), cobra.ShellCompDirectiveNoFileComp
}

func (a *app) completeFlag(name string) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		return matching(a.completionSource(c).Flag(c.Context(), name, args), prefix), cobra.ShellCompDirectiveNoFileComp
	}
}

// completionSource returns where the words for a command come from.
func (a *app) completionSource(c *cobra.Command) complete.Source {
	here, err := a.here()
	if err != nil {
		return complete.Source{}
	}
	return complete.In(here, flagValue(c, "run"), strings.Split(a.systems(), ", "))
}

// matching returns the words that start with prefix.
func matching(words []string, prefix string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(w string) bool { return !strings.HasPrefix(w, prefix) })
}

// completeParam completes --param with the parameters of the plan: the file that is the argument, or that of the run.
func (a *app) completeParam(c *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	var list []string
	switch {
	case c.Name() != "run":
		list = a.completionSource(c).Params(c.Context())
	case len(args) > 0:
		if root, err := a.planRoot(); err == nil {
			list = a.completionSource(c).ParamsOf(root, a.planPath(args[0]))
		}
	}
	return matching(list, prefix), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// completePlan completes one plan file, and the command after "--" as the shell does.
func completePlan(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return []string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
}
