// Package quick has what makes commands fast whose heap is small.
package quick

import (
	"runtime/debug"

	"pawl/internal/redact"
)

// growth is by how many percent the heap of a command that reads, prints and ends may grow before garbage is collected. Most end before that.
const growth = 1600

// heap has a ballast, which counts as live, but takes no memory, because nobody writes to it. So an engine collects garbage after at least as
// many new bytes, and a large heap grows no more than without it.
var heap struct{ ballast []byte }

// ballastSize is in bytes.
const ballastSize = 32 << 20

// Prepare sets how the heap of this process grows, for its command, and begins what an engine waits for.
func Prepare(command string) {
	switch command {
	case "status", "brief":
		debug.SetGCPercent(growth)
	case "run", "resume":
		heap.ballast = make([]byte, ballastSize)
		go redact.OfProcess() // the first call takes a while, and the first event needs it
	}
}
