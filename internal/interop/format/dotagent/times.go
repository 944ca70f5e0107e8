package dotagent

import (
	"fmt"
	"time"

	"pawl/internal/interop/format"
)

// time reads the time behind a key, and tells what is odd about it. One that has not come yet says nothing.
func (r *workflowReader) time(p node, key string) time.Time {
	text := p.text(key)
	if text == "" {
		return time.Time{}
	}
	at, hasZone, ok := format.ParseTime(text)
	where := func() string { return p.at(key).where() }
	switch {
	case !ok:
		r.Warn(where(), "%s is not a time: %s", key, short(text))
		return time.Time{}
	case !hasZone:
		r.Warn(where(), "%s %s has no time zone; UTC is assumed", key, text)
	}
	if at.After(r.env.Now.Add(skew)) {
		r.addBadTime(r.Warn(where(), "%s %s is in the future; ignored", key, text))
		return time.Time{}
	}
	return at
}

// instant returns a time as it is written: UTC, in milliseconds.
func instant(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z") }

// days says how old something is, in whole days.
func days(d time.Duration) string { return fmt.Sprintf("%d days", int(d/(24*time.Hour))) }

// newest returns the latest of some times.
func newest(times ...time.Time) time.Time {
	var last time.Time
	for _, at := range times {
		if at.After(last) {
			last = at
		}
	}
	return last
}
