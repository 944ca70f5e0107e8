package mcp

import (
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	who "pawl/internal/caller"
	"pawl/internal/cli/permission"
	"pawl/internal/project"
)

// commandOf returns the command that does what a tool does.
func commandOf(tool string) string {
	switch tool {
	case "history":
		return "log"
	case "checkpoint_manager":
		return "checkpoint"
	case "python_repl":
		return "kernel"
	}
	return tool
}

// permit returns an error if the user's settings refuse a tool to agents, or pawl mcp itself. The tools are listed nevertheless: the
// settings may change while the server runs.
func (d *toolContext) permit(tool string, from *sdk.Implementation) error {
	root := ""
	if p, err := project.FindOrMain(d.folder); err == nil {
		root = p.Root
	}
	client := who.Client(d.environ, root, nameOf(from), d.started.Load())
	for _, command := range []string{"mcp", commandOf(tool)} {
		if err := (permission.Verb{Name: command}).Check(client, root); err != nil {
			return err
		}
	}
	return nil
}
