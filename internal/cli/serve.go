package cli

import (
	"github.com/spf13/cobra"

	"pawl/internal/cli/serving"
)

func (a *app) serveCommand() *cobra.Command {
	return serving.Commands{Out: a.Out, Err: a.Err, Serve: a.parts.Serve, Login: login, Folder: a.here}.Root()
}
