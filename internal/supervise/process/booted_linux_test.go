package process

import (
	"testing"
	"time"
)

// TestBooted waits for a processor between the clocks in all readings but one.
func TestBooted(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 26, 8, 0, 0, 0, time.UTC)
	up, n := time.Hour, 0
	got := booted(func() reading {
		n++
		r := reading{before: up}
		if n != 3 {
			up += 40 * time.Millisecond
		}
		r.now = start.Add(up)
		up += time.Microsecond
		r.after = up
		return r
	})
	if got != start {
		t.Errorf("booted %v, want %v", got, start)
	}
	if up, age := Uptime(), time.Since(Booted()); up > age+time.Second {
		t.Errorf("booted %v ago, up for %v", age, up)
	}
}
