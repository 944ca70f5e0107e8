package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// Serving says how agents are served.
type Serving struct {
	IO
	Folder    string // where the server stands
	Version   string
	HTTP      bool   // instead of standard input and output
	Address   string // for HTTP. Defaults to a free port of 127.0.0.1.
	TokenFile string // for HTTP. Defaults to a token made now, and said.
	NoToken   bool   // for HTTP
}

func (a *app) mcpCommand() *cobra.Command {
	var s Serving
	c := &cobra.Command{
		Use:     "mcp [ADDRESS]",
		Short:   "Serve this project to an agent over the Model Context Protocol",
		Example: "  claude mcp add pawl -- pawl mcp\n  pawl mcp --http 127.0.0.1:7295",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			s.Address = optional(args, 0)
			if !s.HTTP && (s.Address != "" || s.TokenFile != "" || s.NoToken) {
				return usageError("pawl mcp --http", "an address or a token goes with --http")
			}
			if s.NoToken && s.TokenFile != "" {
				return usageError("pawl mcp --http", "--no-token and --token-file exclude each other")
			}
			return a.serveMCP(c.Context(), s)
		},
	}
	c.Flags().BoolVar(&s.HTTP, "http", false, "serve by HTTP at ADDRESS (default: a free port of 127.0.0.1) instead of standard input and output")
	c.Flags().StringVar(&s.TokenFile, "token-file", "", "with --http: the file with the token that clients show (default: one is made and printed)")
	c.Flags().BoolVar(&s.NoToken, "no-token", false, "with --http: ask for no token; then every program on this machine can speak here")
	return c
}

// serveMCP serves agents until they leave or, by HTTP, until it is interrupted.
func (a *app) serveMCP(ctx context.Context, s Serving) error {
	var err error
	if s.Folder, err = a.here(); err != nil {
		return err
	}
	s.IO, s.Version = a.IO, a.version
	if !s.HTTP {
		if in, ok := a.In.(*os.File); ok && term.IsTerminal(int(in.Fd())) {
			fmt.Fprintln(a.Err, "pawl: note: an agent speaks here, a JSON message a line; Ctrl-D ends it")
		}
		return a.parts.Agents(ctx, s)
	}
	soft, _, release := interrupts(ctx, func() {})
	defer release()
	return a.parts.Agents(soft, s)
}
