package cli

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli/layout"
	"pawl/internal/project"
	"pawl/internal/runs"
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
	return readers[topLevel(c).Name()]
}

// topLevel returns the command of the first level that c is or belongs to.
func topLevel(c *cobra.Command) *cobra.Command {
	for c.HasParent() && c.Parent().HasParent() {
		c = c.Parent()
	}
	return c
}

// independent are the commands that do nothing with the project of the current folder. A step reports progress by its own files.
var independent = []string{"help", "completion", "version", "progress", "hook", cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd}

// requireTrust returns an error in an untrusted project, unless the command only reads. Not every command needs the project
// before it changes files, prints what it finds, or asks a question.
func (a *app) requireTrust(c *cobra.Command) error {
	if a.reads || !c.HasParent() || slices.Contains(independent, topLevel(c).Name()) {
		return nil
	}
	here, err := a.here()
	if err != nil {
		return nil // the command reports it
	}
	p, err := project.Find(here)
	switch {
	case err == nil:
		return p.Trusted()
	case pawl.KindOf(err) == pawl.KindDamaged: // for example a link
		return err
	}
	return nil // the command reports it
}

// noteOrigin says that a run in a trusted project was made elsewhere, if it was.
func (a *app) noteOrigin(p *project.Project, run pawl.RunID) {
	if err := runs.RequireOwn(p, run); err != nil {
		fmt.Fprintf(a.Err, "pawl: note: %v\npawl: note: what follows comes from its files and is unverified; to accept it: pawl adopt %s\n", err, run)
	}
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
