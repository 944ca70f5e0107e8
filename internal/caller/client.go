package caller

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pawl/internal/disk"
	"pawl/internal/supervise/process"
	"pawl/internal/userdir"
)

// SharedParents are programs that adopt the children of an agent that has ended, and below which a person works too.
var SharedParents = map[string]bool{
	"systemd": true, "init": true, "launchd": true, "tini": true, "dumb-init": true, "docker-init": true, "containerd-shim-runc-v2": true,
	"tmux": true, "screen": true, "sshd": true, "login": true, "su": true, "sudo": true,
}

// Shells are programs that may stand between an agent and what it starts.
var Shells = map[string]bool{"sh": true, "bash": true, "dash": true, "zsh": true, "env": true, "pawl": true}

// Connect records, in the user's state folder, the MCP client that started this process as its server: until disconnect, commands below
// that client are an agent's. If the server is killed, the record holds as long as the client lives. A server that a person started in an
// interactive shell has no client, and that of a step needs no record.
func Connect() (disconnect func() error, err error) {
	disconnect = func() error { return nil }
	client := clientOf(ancestors())
	if client == nil || Under(os.Environ(), "").Kind == Step {
		return disconnect, nil
	}
	dir, err := userdir.State(folder)
	if err != nil {
		return disconnect, err
	}
	s := Session{Agent: filepath.Base(client.program), Server: process.Self()}
	if s.Process, err = process.Identify(client.PID); err != nil {
		return disconnect, err
	}
	path := filepath.Join(dir, connectionPrefix(*client)+fmt.Sprint(s.Server)+".json")
	if err := write(path, s); err != nil {
		return disconnect, err
	}
	return func() error { return disk.Remove(path) }, nil
}

// Client returns the MCP client that this process serves: the step or the agent that the process belongs to, else an agent of this name.
// started reports that the client started this process; its environment then counts, because it can give its servers another one.
func Client(environ []string, root, name string, started bool) Caller {
	c := Under(environ, root)
	if c.Kind != Person {
		return c
	}
	c = Caller{Kind: Agent, Name: name, Evidence: "it calls the tools of pawl mcp", environ: environ}
	if client := clientOf(ancestors()); started && client != nil && client.environ != nil {
		c.environ = client.environ
	}
	return c
}

// clientOf returns the nearest ancestor that is neither a shell with a script nor a program below which a person works; nil if there is
// none, or if a person's shell comes first.
func clientOf(above []ancestor) *ancestor {
	for i := range above {
		switch name := filepath.Base(above[i].program); {
		case SharedParents[name] || name == "." || above[i].PID <= 1:
			return nil
		case !Shells[name]:
			return &above[i]
		case name != "env" && name != "pawl" && isInteractive(above[i].args):
			return nil
		}
	}
	return nil
}

// isInteractive reports whether a shell with these arguments reads commands from a person: it has neither a script nor -c.
func isInteractive(args []string) bool {
	return !slices.ContainsFunc(args[min(1, len(args)):], func(arg string) bool {
		return !strings.HasPrefix(arg, "-") || !strings.HasPrefix(arg, "--") && strings.Contains(arg, "c")
	})
}

// connectionPrefix begins the file names of the records of an MCP client; the number of its server follows.
func connectionPrefix(a ancestor) string { return fmt.Sprintf("%d-%d.mcp-", a.PID, a.Start) }
