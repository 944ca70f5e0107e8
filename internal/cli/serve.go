package cli

import (
	"github.com/spf13/cobra"

	"pawl/internal/cli/helptext"
	"pawl/internal/cli/layout"
	"pawl/internal/cli/scheduling"
	"pawl/internal/cli/signals"
	"pawl/internal/httpaccess"
)

func (a *app) serveCommand() *cobra.Command {
	var s httpaccess.Service
	var unit scheduling.Serve
	c := &cobra.Command{
		Use:     "serve",
		Short:   "Resume interrupted runs in all of your projects, and serve their state over HTTP",
		Long:    helptext.Serve,
		Example: "  pawl serve\n  pawl serve --listen 127.0.0.1:7778\n  pawl serve --install",
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if unit.Given() {
				unit.Address, unit.TokenFile = s.Address, s.TokenFile
				return unit.Do(c.Context(), a.Out)
			}
			if err := s.ReadToken("serve"); err != nil {
				return err
			}
			soft, _, release := signals.Contexts(c.Context())
			defer release()
			return a.parts.Serve(soft, s, layout.Unfiltered(a.Out), a.Err)
		},
	}
	c.Flags().StringVar(&s.Address, "listen", "", "serve HTTP at `ADDRESS`, a loopback address (default: a free port of 127.0.0.1)")
	c.Flags().StringVar(&s.TokenFile, "token-file", "", "read the token that clients must send from `FILE` (default: a file in your state folder, which serve creates)")
	c.Flags().BoolVar(&unit.Install, "install", false, "install and start a service of your systemd that runs pawl serve; it listens at "+scheduling.DefaultAddress+" unless --listen is given")
	c.Flags().BoolVar(&unit.Uninstall, "uninstall", false, "stop and remove that service")
	return c
}
