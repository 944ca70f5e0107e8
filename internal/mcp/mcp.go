// Package mcp serves a project to agents over the Model Context Protocol: what stands where, what to do next, and a way to
// say what was done, learned, decided, or is in the way. It is a sibling of the command line over package engine.
//
// It speaks every revision that today's agents ask for, on standard input and output or on a loopback address behind a
// token. Whatever it takes or gives has its secrets taken out, is bounded in size, and comes as text and as typed data. A
// call that is cut off, repeated or refused does no harm, and no client, whatever it sends, ends the server but by leaving.
// It asks a person only through the client that asked for it, and takes for a person's answer only what comes back for
// exactly that gate.
package mcp

import (
	"embed"
	"io"
	"log/slog"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pawl/internal/interop"
)

// Config says whom a server serves.
type Config struct {
	Folder  string         // where it stands, in or below the project
	Version string         // of this program
	Environ []string       // its environment: which attempt it belongs to, and what is secret
	Log     io.Writer      // for whoever runs it
	Formats  interop.Formats // of the systems whose files are kept up to date
}

// Server is an MCP server of one project. Several clients may use one at once.
type Server struct {
	*desk
	sdk *sdk.Server
	log *slog.Logger // for whoever runs it
	say io.Writer    // to the same
}

// New returns a server. It looks at nothing yet: the project is found at each call, so that it may come into being later.
func New(c Config) (*Server, error) {
	s := &Server{
		desk: newDesk(c), say: c.Log,
		log: slog.New(slog.NewTextHandler(c.Log, &slog.HandlerOptions{Level: slog.LevelWarn})),
	}
	s.sdk = sdk.NewServer(&sdk.Implementation{Name: "pawl", Title: "pawl", Version: c.Version}, &sdk.ServerOptions{
		Instructions: text("instructions"), Logger: s.log, Capabilities: capabilities(), SetCacheable: uncached,
	})
	if err := s.addTools(); err != nil {
		return nil, err
	}
	s.addResources()
	s.addPrompts()
	s.sdk.AddReceivingMiddleware(s.discover, s.guard)
	return s, nil
}

// capabilities are what the server offers. What it offers does not change while it runs.
func capabilities() *sdk.ServerCapabilities {
	return &sdk.ServerCapabilities{
		Tools: &sdk.ToolCapabilities{}, Resources: &sdk.ResourceCapabilities{}, Prompts: &sdk.PromptCapabilities{},
	}
}

//go:embed texts
var texts embed.FS

// text returns one of the texts that models read.
func text(name string) string {
	data, err := texts.ReadFile("texts/" + name + ".md")
	if err != nil {
		panic("a text is part of the program: " + err.Error())
	}
	return strings.TrimSpace(string(data))
}
