package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"pawl/internal/version"
)

func (a *app) versionCommand() *cobra.Command {
	return a.jsonFlag(&cobra.Command{
		Use:   "version",
		Short: "Print version, commit, Go version and platform",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			if a.json {
				return a.printJSON(version.Read())
			}
			_, err := fmt.Fprintf(a.Out, "pawl version %s\n", version.Read())
			return err
		},
	})
}
