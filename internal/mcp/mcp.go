// Package mcp serves a project to agents over the Model Context Protocol. Its tools return the status and the next steps, and
// record progress, notes, decisions and blockers. It is a sibling of the command line.
//
// It supports every protocol revision that current agents request, on standard input and output, or over HTTP on a loopback
// address with a token. All input and output is redacted and bounded in size; results are text and typed data. A call that
// is canceled, repeated or rejected does no harm, and no client can stop the server except by disconnecting. It asks a
// person only through the client that made the call, and accepts as the person's answer only the reply to exactly that gate.
package mcp

import (
	"embed"
	"io"
	"log/slog"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pawl/internal/interop"
)

// Config is the configuration of a server.
type Config struct {
	Folder  string          // the working folder, in or below the project
	Version string          // of this program
	Environ []string        // environment variables: the attempt that the server belongs to, and secrets to redact
	Log     io.Writer       // log for the operator
	Formats interop.Formats // formats of other systems whose files are mirrored
}

// Server is an MCP server of one project. Several clients may use one at once.
type Server struct {
	*toolContext
	sdk *sdk.Server
	log *slog.Logger
	out io.Writer // for messages to the operator
}

// New returns a server. It finds the project at each call, so the project may be created later.
func New(c Config) (*Server, error) {
	s := &Server{
		toolContext: newToolContext(c), out: c.Log,
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

// capabilities are what the server offers. They do not change while it runs.
func capabilities() *sdk.ServerCapabilities {
	return &sdk.ServerCapabilities{
		Tools: &sdk.ToolCapabilities{}, Resources: &sdk.ResourceCapabilities{}, Prompts: &sdk.PromptCapabilities{},
	}
}

//go:embed texts
var texts embed.FS

// text returns one of the texts written for models.
func text(name string) string {
	data, err := texts.ReadFile("texts/" + name + ".md")
	if err != nil {
		panic("missing embedded text: " + err.Error())
	}
	return strings.TrimSpace(string(data))
}
