package grid

import (
	"pawl"
	"time"

	"pawl/internal/interop/format"
	"pawl/internal/interop/format/report"
	"pawl/internal/oneline"
)

// time reads a time, and notes what is odd about it.
func (r *clusterReader) time(file string, line int, text string) time.Time {
	at, zoned, ok := format.ParseTimeIn(text, r.now.Location())
	switch {
	case !ok:
		r.Find(pawl.Warn, report.Where(file, line), "write it as "+r.now.UTC().Format(time.RFC3339), "not a time: %s", oneline.Quote(text))
		return time.Time{}
	case !zoned:
		r.Find(pawl.Warn, report.Where(file, line), "write it with a zone: "+at.Format(time.RFC3339), "%s has no time zone; local time is assumed", oneline.Quote(text))
	}
	if at.After(r.now.Add(skew)) {
		r.Warn(report.Where(file, line), "%s is in the future; ignored", oneline.Quote(text))
	}
	return at
}

// past returns a time, or the zero one where it lies in the future.
func (r *clusterReader) past(at time.Time) time.Time {
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
