package sitebuilder

import (
	"time"
)

// stampLayout is the system's time format.
const stampLayout = "2006-01-02T15:04:05Z"

// stamp formats a time as the system does.
func stamp(at time.Time) string { return at.UTC().Format(stampLayout) }

// newest returns the last of some times that is not in the future, zero if there is none.
func newest(now time.Time, times ...time.Time) time.Time {
	var last time.Time
	for _, at := range times {
		if at.After(last) && !at.After(now.Add(clockSkew)) {
			last = at
		}
	}
	return last
}
