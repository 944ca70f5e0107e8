package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"pawl/internal/cli/worktrees"
	"pawl/internal/project"
)

func (a *app) initCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "init",
		Short: "Initialize a pawl project in this folder",
		Long:  "Initialize a pawl project in this folder\n\npawl run does so if needed.",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			here, err := a.here()
			if err != nil {
				return err
			}
			known, _ := project.Find(here) // Init reports an error
			notes := worktrees.NewProjectNotes(here)
			p, err := project.Init(here)
			if err == nil {
				err = p.Trusted()
			}
			if err != nil {
				return err
			}
			a.register(p)
			if known != nil && known.Root == p.Root {
				fmt.Fprintf(a.Out, "%s is a project already: %s\n", p.Root, p.ID)
				return nil
			}
			a.printNotes(notes)
			fmt.Fprintf(a.Out, "initialized project %s in %s\n", p.ID, p.Root)
			return nil
		},
	}
}

// register adds the project to the user's registry and prints the notes about that.
func (a *app) register(p *project.Project) {
	a.printNotes(p.Register("", time.Now().UTC()))
}
