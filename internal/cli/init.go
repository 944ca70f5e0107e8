package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"pawl/internal/project"
)

func (a *app) initCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "init",
		Short: "Make this folder a project",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			here, err := a.here()
			if err != nil {
				return err
			}
			p, err := project.Init(here)
			if err != nil {
				return err
			}
			a.register(p)
			fmt.Fprintf(a.Out, "project %s in %s\n", p.ID, p.Root)
			return nil
		},
	}
}

// register enters the project in the user's registry, and says what a person should know of that.
func (a *app) register(p *project.Project) {
	a.printNotes(p.Register("", time.Now().UTC()))
}
