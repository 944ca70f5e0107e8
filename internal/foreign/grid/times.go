package grid

import (
	"strings"
	"time"

	"pawl/internal/foreign/splice"
)

// zoned and naive are the forms of times that are read; those without a zone are local.
var (
	zoned = []string{time.RFC3339Nano, "2006-01-02T15:04:05Z0700", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05 -0700", "2006-01-02T15:04Z07:00"}
	naive = []string{"2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999", "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02"}
)

// parseTime reads a time. local says that it has no zone, and was taken for one of the place now is in.
func parseTime(text string, now time.Time) (at time.Time, local, ok bool) {
	text = strings.TrimSpace(text)
	for _, form := range zoned {
		if at, err := time.Parse(form, text); err == nil {
			return at.UTC(), false, true
		}
	}
	for _, form := range naive {
		if at, err := time.ParseInLocation(form, text, now.Location()); err == nil {
			return at.UTC(), true, true
		}
	}
	return time.Time{}, false, false
}

// time reads a time, and notes what is odd about it.
func (r *reader) time(file string, line int, text string) time.Time {
	at, local, ok := parseTime(text, r.now)
	switch {
	case !ok || at.Year() < 1 || at.Year() > 9999:
		r.warn(file, line, "this is no time: "+splice.Quote(text), "write it as "+r.now.UTC().Format(time.RFC3339))
		return time.Time{}
	case local:
		r.warn(file, line, splice.Quote(text)+" has no time zone; it was taken as local time", "write it with a zone: "+at.Format(time.RFC3339))
	}
	if at.After(r.now.Add(skew)) {
		r.warn(file, line, splice.Quote(text)+" lies in the future; it says nothing about how old this is", "")
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
