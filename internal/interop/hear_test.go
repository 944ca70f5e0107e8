package interop

import (
	"testing"
	"time"

	"pawl/internal/interop/format"
)

// TestHear: an announcement ends the wait for the next look at tables, also one that comes while nobody waits.
func TestHear(t *testing.T) {
	t.Parallel()
	heard := make(chan struct{}, 1)
	m := &MirrorWriter{heard: heard}
	m.Format.Paused = func(format.Files, format.Export) string { return "" }
	fires := func(poll <-chan time.Time, told bool) {
		t.Helper()
		select {
		case <-poll:
		case <-time.After(time.Minute):
			t.Fatal("no look")
		}
		if m.told.Load() != told {
			t.Errorf("announced: %t", !told)
		}
	}
	first := m.nextPoll()
	m.stopPoll() // a write came first
	m.writes.Wait()
	heard <- struct{}{}
	if m.poll = nil; len(first) != 0 {
		t.Error("a wait that has ended fires")
	}
	fires(m.nextPoll(), true)
	m.poll = nil
	fires(m.nextPoll(), true) // the look could not begin, because a write was under way
	m.poll = nil
	m.told.Store(false)
	fires(m.nextPoll(), false) // by the time
	m.writes.Wait()
}
