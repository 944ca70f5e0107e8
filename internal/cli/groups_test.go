package cli

import "testing"

// TestCommandNames compares the names of commands with the names by which the command line chooses one of them.
func TestCommandNames(t *testing.T) {
	t.Parallel()
	a := new(app)
	for _, g := range a.groups() {
		for name, build := range g.commands {
			if c := build(); c.Name() != name {
				t.Errorf("the command %s is listed as %s", c.Name(), name)
			}
			a.args = []string{"-C", "x", name}
			if alone := a.called(); len(alone.Commands()) != 1 {
				t.Errorf("pawl %s makes %d commands", name, len(alone.Commands()))
			}
		}
	}
}
