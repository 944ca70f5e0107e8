package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"pawl/internal/cli/layout"
	"pawl/internal/project"
)

// readers are the commands that work in an untrusted project. They write nothing.
var readers = map[string]bool{
	"status": true, "runs": true, "output": true, "log": true, "stats": true, "why": true, "explain": true, "brief": true, "gates": true,
	"checkpoints": true, "show": true, "memory": true, "processes": true, "verify": true, "doctor": true, "trust": true, "plan": true,
}

// changers are flags that make a reading command write or end processes.
var changers = []string{"end", "repair"}

// readsOnly reports whether a command line only reads.
func readsOnly(c *cobra.Command) bool {
	for _, name := range changers {
		if f := c.Flags().Lookup(name); f != nil && f.Changed {
			return false
		}
	}
	for c.HasParent() && c.Parent().HasParent() {
		c = c.Parent()
	}
	return readers[c.Name()]
}

// quote marks all that the command prints about an untrusted project: JSON by a note, text by a note and "> " before each line.
func (a *app) quote(p *project.Project) {
	if _, done := a.Out.(*layout.Quoter); done {
		return
	}
	fmt.Fprintf(a.Err, "pawl: note: %v\npawl: note: what follows comes from its files and is unverified; to trust it: pawl trust\n", p.Trusted())
	if !a.json {
		a.Out = &layout.Quoter{Out: a.Out}
	}
}
