// Package quick has what makes commands fast whose heap is small.
package quick

import (
	"encoding/json"
	"runtime"
	"runtime/debug"
	"sync"

	"pawl"
	"pawl/internal/redact"
	"pawl/internal/supervise"
)

// growth is by how many percent the heap of a command that reads, prints and ends may grow before garbage is collected. Most end before that.
const growth = 1600

// heap has a ballast, which counts as live, but takes no memory, because nobody writes to it. So an engine collects garbage after at least as
// many new bytes, and a large heap grows no more than without it.
var heap struct{ ballast []byte }

// In bytes. smallestHeap is the size of the heap at which Go first collects garbage.
const (
	ballastSize  = 32 << 20
	smallestHeap = 4 << 20
)

// Prepare sets how the heap of this process grows, for its command, and begins what an engine waits for.
func Prepare(command string) {
	switch command {
	case "status", "brief":
		debug.SetGCPercent(growth)
	case "run", "resume":
		collectLaterOnce()
		go warm()
	}
}

// collectLaterOnce is collectLater, but once in a process: tests run several engines in one.
var collectLaterOnce = sync.OnceFunc(collectLater)

// sentinel is what nobody needs, so that the first collection of garbage finds it.
type sentinel struct{ _ [64]byte }

// collectLater puts the first collection of garbage off as if there were the ballast, which it then makes. To make it begins a collection at
// once otherwise, while an engine starts.
func collectLater() {
	percent := debug.SetGCPercent(ballastSize / smallestHeap * 100)
	runtime.AddCleanup(new(sentinel), func(percent int) {
		heap.ballast = make([]byte, ballastSize)
		debug.SetGCPercent(percent)
	}, percent)
}

// warm does what an engine's first event and first attempt need and what takes a while when it is done for the first time, while this process
// waits for its disk or has a second processor.
func warm() {
	for _, v := range []any{pawl.StepDone{}, pawl.AttemptStarted{}} {
		_, _ = json.Marshal(v) // encoding/json keeps what it finds out about types
	}
	redact.OfProcess()
	supervise.NewSeal()
}
