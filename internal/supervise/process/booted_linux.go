package process

import "time"

// tries is how often clocks are read to find a moment at which they were read together.
const tries = 5

// reading is the time of day between two readings of the time since the system started.
type reading struct {
	before, after time.Duration
	now           time.Time
}

// booted returns when the system started, by the closest of several readings: between two clocks a process may have to wait for a
// processor.
func booted(read func() reading) time.Time {
	best := read()
	for range tries - 1 {
		if r := read(); r.after-r.before < best.after-best.before {
			best = r
		}
	}
	return best.now.Add(-best.before)
}
