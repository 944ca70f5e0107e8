// Package quick has what makes commands fast that read, print and end.
package quick

import "runtime/debug"

// growth is by how many percent the heap of such a command may grow before garbage is collected. Most end before that.
const growth = 1600

// Heap lets the heap of this process grow if its command ends as soon as it has printed.
func Heap(command string) {
	if command == "status" || command == "brief" {
		debug.SetGCPercent(growth)
	}
}
