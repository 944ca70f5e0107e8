package cli

import (
	"fmt"
	"os"
	"os/user"
	"slices"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/caller"
	"pawl/internal/config"
)

// personVerbs are commands that only a person may use: what runs under pawl, in whatever project, may not.
var personVerbs = []string{"approve", "answer", "reject", "review", "trust", "adopt", "done"}

// workingVerbs are commands that a step may not use on its own project. An agent may, unless the user's settings refuse it.
var workingVerbs = []string{
	"archive", "attach", "detach", "fork", "import", "pause", "processes", "prune", "recover", "restore", "resume", "retry", "rollback", "run", "skip", "stop", "unblock",
}

// permit returns an error if this process may not use a command.
func (a *app) permit(c *cobra.Command) error {
	if dry := c.Flags().Lookup("dry-run"); c.Parent() == nil || c.Parent().HasParent() || dry != nil && dry.Changed {
		return nil
	}
	verb := c.Name()
	forPerson := slices.Contains(personVerbs, verb)
	if taken := c.Flags().Lookup("take-over"); taken != nil && taken.Changed {
		verb, forPerson = verb+" --take-over", true
	}
	if !forPerson && !slices.Contains(workingVerbs, verb) || verb == "processes" && !c.Flags().Changed("end") {
		return nil
	}
	root := ""
	if p, err := a.project(); err == nil {
		root = p.Root
	}
	return permit(caller.Under(os.Environ(), root), verb, forPerson, root)
}

// permit returns an error if the caller may not use a verb in the project at root. The error names no way around it.
func permit(who caller.Caller, verb string, forPerson bool, root string) error {
	switch {
	case who.Kind == caller.Person:
		return nil
	case who.Kind == caller.Step && forPerson:
		return refusal("pawl %s is for a person, and this process belongs to %s: %s", verb, who, who.Evidence)
	case who.Kind == caller.Step:
		if who.InOwnProject(root) {
			return refusal("a step may not use pawl %s on its own project, and this process belongs to %s: %s", verb, who, who.Evidence)
		}
		return nil
	}
	settings, err := config.ReadUser()
	switch {
	case err != nil:
		return err
	case slices.Contains(settings.Agents.Refuse, verb):
		return refusal("your settings refuse pawl %s to agents, and this process belongs to %s: %s", verb, who, who.Evidence)
	case forPerson && !slices.Contains(settings.Agents.Allow, verb):
		return refusal("pawl %s is for a person, and this process belongs to %s: %s", verb, who, who.Evidence)
	}
	return nil
}

// refusal is an error without a hint.
func refusal(format string, args ...any) error {
	return &pawl.Error{Kind: pawl.KindDamaged, Err: fmt.Errorf(format, args...)}
}

// author returns the author of what this command records: the person, the agent or the step that runs it.
func (a *app) author() pawl.Author {
	root := ""
	if p, err := a.project(); err == nil {
		root = p.Root
	}
	return caller.Under(os.Environ(), root).Author(login())
}

// login returns the user's login name, or "".
func login() string {
	if name := os.Getenv("USER"); name != "" {
		return name
	}
	u, err := user.Current()
	if err != nil {
		return ""
	}
	return u.Username
}
