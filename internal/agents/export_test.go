package agents

import "slices"

// Events returns the names of the agent's events that are of interest, sorted.
func (d *Dialect) Events() []string {
	var names []string
	for name := range d.events {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
