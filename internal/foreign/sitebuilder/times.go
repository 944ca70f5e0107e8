package sitebuilder

import (
	"strings"
	"time"
)

// stampLayout is how the system writes times.
const stampLayout = "2006-01-02T15:04:05Z"

// parseTime returns the time that a text names, and whether it names a zone. One without is taken for UTC. It is zero
// where the text is no time.
func parseTime(text string) (at time.Time, zoned bool) {
	text = strings.TrimSpace(text)
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04Z07:00", "2006-01-02 15:04:05Z07:00"} {
		if at, err := time.Parse(layout, text); err == nil && fits(at) {
			return at.UTC(), true
		}
	}
	for _, layout := range []string{"2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999", "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02"} {
		if at, err := time.Parse(layout, text); err == nil && fits(at) {
			return at, false
		}
	}
	return time.Time{}, false
}

// fits reports whether a time can be written in JSON.
func fits(at time.Time) bool { return at.UTC().Year() >= 1 && at.UTC().Year() <= 9999 }

// stamp returns a time as the system writes it.
func stamp(at time.Time) string { return at.UTC().Format(stampLayout) }

// newest returns the last of some times that is not in the future, zero where there is none.
func newest(now time.Time, times ...time.Time) time.Time {
	var last time.Time
	for _, at := range times {
		if at.After(last) && !at.After(now.Add(skew)) {
			last = at
		}
	}
	return last
}
