package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"pawl/internal/caller"
	"pawl/internal/cli/layout"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"pawl"
	"pawl/internal/cli/signals"
)

// Serving configures the MCP server.
type Serving struct {
	IO
	Folder    string // working folder
	Version   string
	HTTP      bool   // serve HTTP instead of standard input and output
	Address   string // for HTTP. Defaults to a free port of 127.0.0.1.
	TokenFile string // for HTTP. Defaults to a new token, which is printed.
	NoToken   bool   // for HTTP
}

func (a *app) mcpCommand() *cobra.Command {
	var s Serving
	c := &cobra.Command{
		Use:     "mcp [--http [ADDRESS]]",
		Short:   "Serve this project to an agent over MCP (Model Context Protocol)",
		Example: "  claude mcp add pawl -- pawl mcp\n  pawl mcp --http 127.0.0.1:7295",
		Args:    atMostOne,
		RunE: func(c *cobra.Command, args []string) error {
			s.Address = optional(args, 0)
			if !s.HTTP && (s.Address != "" || s.TokenFile != "" || s.NoToken) {
				return usageError("pawl mcp --http", "ADDRESS, --token-file and --no-token need --http")
			}
			if s.NoToken && s.TokenFile != "" {
				return usageError("pawl mcp --http", "--no-token and --token-file cannot be combined")
			}
			return a.serveMCP(c.Context(), s)
		},
	}
	c.Flags().BoolVar(&s.HTTP, "http", false, "serve HTTP at ADDRESS (default: a free port of 127.0.0.1) instead of standard input and output")
	c.Flags().StringVar(&s.TokenFile, "token-file", "", "with --http: read the access token from `FILE` (default: create a token and print it)")
	c.Flags().BoolVar(&s.NoToken, "no-token", false, "with --http: require no token; any program on this machine can connect")
	return c
}

// serveMCP serves agents until they disconnect or, over HTTP, until it is interrupted.
func (a *app) serveMCP(ctx context.Context, s Serving) error {
	var err error
	if s.Folder, err = a.here(); err != nil {
		return err
	}
	if _, err := a.project(); err != nil && !errors.Is(err, pawl.ErrNoProject) {
		return err
	}
	s.IO, s.Version = IO{In: a.In, Out: layout.Unfiltered(a.Out), Err: a.Err}, a.version
	if !s.HTTP {
		if in, ok := a.In.(*os.File); ok && term.IsTerminal(int(in.Fd())) {
			fmt.Fprintln(a.Err, "pawl: note: this is for agents: it reads one JSON message per line; Ctrl-D ends it")
		}
		return a.serveClient(ctx, s)
	}
	soft, _, release := signals.Contexts(ctx)
	defer release()
	return a.parts.Agents(soft, s)
}

// serveClient serves the program that started this process, which is an agent's while it is connected.
func (a *app) serveClient(ctx context.Context, s Serving) error {
	disconnect, err := caller.Connect()
	if err != nil {
		a.printNotes([]string{"cannot record the MCP client, so its commands count as yours: " + err.Error()})
	}
	if err := a.parts.Agents(ctx, s); err != nil {
		return err // it was stopped, perhaps by the agent: the record holds as long as the client lives
	}
	return disconnect()
}
