package grid

import (
	"time"

	"pawl/internal/interop/format"
	"pawl/internal/oneline"
)

// time reads a time, and notes what is odd about it.
func (r *reader) time(file string, line int, text string) time.Time {
	at, zoned, ok := format.ParseTimeIn(text, r.now.Location())
	switch {
	case !ok:
		r.warn(file, line, "this is no time: "+oneline.Quote(text), "write it as "+r.now.UTC().Format(time.RFC3339))
		return time.Time{}
	case !zoned:
		r.warn(file, line, oneline.Quote(text)+" has no time zone; it was taken as local time", "write it with a zone: "+at.Format(time.RFC3339))
	}
	if at.After(r.now.Add(skew)) {
		r.warn(file, line, oneline.Quote(text)+" lies in the future; it says nothing about how old this is", "")
	}
	return at
}

// past returns a time, or the zero one where it lies in the future.
func (r *reader) past(at time.Time) time.Time {
	if at.After(r.now.Add(skew)) {
		return time.Time{}
	}
	return at
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
