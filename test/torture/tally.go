package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
)

// tally counts what is printed in the end.
type tally struct {
	kills, resumes, reruns, lost, points, cuts, left atomic.Int64

	mu    sync.Mutex
	kinds map[string]int // of what pawl was made to suffer; guarded by mu
}

// suffered counts a kill, a fault or a power cut by its kind, so that it can be seen that none was left out.
func (t *tally) suffered(kind string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.kinds == nil {
		t.kinds = map[string]int{}
	}
	t.kinds[kind]++
}

// report prints the sums, and below them how often there was each kind.
func (t *tally) report(out io.Writer) {
	for _, line := range []struct {
		what  string
		count *atomic.Int64
	}{
		{"kills", &t.kills}, {"resumes", &t.resumes}, {"re-run items", &t.reruns}, {"lost items", &t.lost},
		{"fault points visited", &t.points}, {"power cuts", &t.cuts}, {"processes left", &t.left},
	} {
		fmt.Fprintf(out, "%-21s %d\n", line.what, line.count.Load())
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, kind := range slices.Sorted(maps.Keys(t.kinds)) {
		fmt.Fprintf(out, "  %-45s %d\n", kind, t.kinds[kind])
	}
}
