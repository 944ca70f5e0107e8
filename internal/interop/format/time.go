package format

import (
	"strings"
	"time"
)

// The time formats that are accepted, with a zone and without: those of RFC 3339, PostgreSQL, SQLite, Python and git, with T or a
// space, and with any fraction of a second.
var (
	zonedForms = []string{"2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05Z0700", "2006-01-02 15:04:05Z07", "2006-01-02 15:04:05 -0700", "2006-01-02 15:04Z07:00"}
	naiveForms = []string{"2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02"}
)

// ParseTime parses a time, and reports whether it has a zone; without one, UTC is assumed. The result is in UTC. A year outside of
// 1 to 9999 is rejected, since it could not be written again.
func ParseTime(text string) (at time.Time, zoned, ok bool) { return ParseTimeIn(text, time.UTC) }

// ParseTimeIn is ParseTime with another default zone.
func ParseTimeIn(text string, place *time.Location) (at time.Time, zoned, ok bool) {
	text = strings.TrimSpace(text)
	if len(text) > len(time.DateOnly) && strings.ContainsAny(text[len(time.DateOnly):][:1], "Tt") {
		text = text[:len(time.DateOnly)] + " " + text[len(time.DateOnly)+1:]
	}
	for i, form := range append(zonedForms[:len(zonedForms):len(zonedForms)], naiveForms...) {
		if at, err := time.ParseInLocation(form, text, place); err == nil {
			at = at.UTC()
			if at.Year() < 1 || at.Year() > 9999 {
				break
			}
			return at, i < len(zonedForms), true
		}
	}
	return time.Time{}, false, false
}
