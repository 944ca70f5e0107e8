package headless

import (
	"strconv"
	"strings"
	"time"

	"pawl/internal/lazyregexp"
)

// The formats in which agents report the end of a usage limit.
var (
	epochReset = lazyregexp.New(`(?:\||resets?_?at"?\s*:\s*)(\d{10})\b`)
	stampReset = lazyregexp.New(`\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:[Zz]|[+-]\d\d:\d\d)`)
	awayReset  = lazyregexp.New(`(?i)\b(in|after|retryDelay"?\s*:\s*"?|resets?_in_seconds"?\s*:)\s*((?:\d+(?:\.\d+)?\s*[a-z]*[\s,]*(?:and\s+)?)+)`)
	clockReset = lazyregexp.New(`(?i)\b(?:at|resets?)\s+(?:(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?\s+(\d{1,2})(?:st|nd|rd|th)?,?\s+(?:(\d{4}),?\s+)?(?:at\s+)?)?(\d{1,2})(?::(\d\d))?\s*(am|pm)?(?:\s*\(([A-Za-z]+(?:/[A-Za-z_]+)*)\))?`)
	amount     = lazyregexp.New(`(?i)(\d+(?:\.\d+)?)\s*([a-z]*)`)
)

// resetIn returns the end of a limit that a text contains, zero if none. A time of day without a zone is in now's zone.
func resetIn(text string, now time.Time) time.Time {
	for _, find := range []func(string, time.Time) time.Time{epochIn, stampIn, awayIn, clockIn} {
		if at := find(text, now); sensible(at, now) {
			return at
		}
	}
	return time.Time{}
}

// maxReset is the longest plausible duration of a limit.
const maxReset = 60 * 24 * time.Hour

func sensible(at, now time.Time) bool { return at.After(now) && at.Sub(now) <= maxReset }

func epochIn(text string, _ time.Time) time.Time {
	m := epochReset.FindStringSubmatch(text)
	if m == nil {
		return time.Time{}
	}
	seconds, _ := strconv.ParseInt(m[1], 10, 64) // ten digits always are
	return time.Unix(seconds, 0)
}

func stampIn(text string, _ time.Time) time.Time {
	stamp := strings.ToUpper(strings.Replace(stampReset.FindString(text), " ", "T", 1))
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04Z07:00"} {
		if at, err := time.Parse(layout, stamp); err == nil {
			return at
		}
	}
	return time.Time{}
}

func awayIn(text string, now time.Time) time.Time {
	if away := duration(text); away > 0 {
		return now.Add(away)
	}
	return time.Time{}
}

// duration returns the duration of a limit that a text contains, 0 if none.
func duration(text string) time.Duration {
	for _, m := range awayReset.FindAllStringSubmatch(text, -1) {
		bare := strings.HasPrefix(strings.ToLower(m[1]), "reset") // seconds, as its name says
		if away := span(m[2], bare); away > 0 {
			return away
		}
	}
	return 0
}

// span reads the amounts of time at the start of a text, such as "2 days 17 hours" or "1h0m0s". A number without a unit counts
// only if bare is set.
func span(text string, bare bool) time.Duration {
	var sum time.Duration
	for _, part := range amount.FindAllStringSubmatch(text, -1) {
		unit, known := units[strings.ToLower(part[2])]
		n, err := strconv.ParseFloat(part[1], 64)
		if !known || part[2] == "" && !bare || err != nil || n > 1e7 {
			return sum
		}
		sum += time.Duration(n * float64(unit))
	}
	return sum
}

// units are the spellings of units of time.
var units = map[string]time.Duration{
	"": time.Second, "ms": time.Millisecond, "s": time.Second, "sec": time.Second, "secs": time.Second, "second": time.Second,
	"seconds": time.Second, "m": time.Minute, "min": time.Minute, "mins": time.Minute, "minute": time.Minute, "minutes": time.Minute,
	"h": time.Hour, "hr": time.Hour, "hrs": time.Hour, "hour": time.Hour, "hours": time.Hour, "d": 24 * time.Hour, "day": 24 * time.Hour,
	"days": 24 * time.Hour,
}

// clockIn reads a time of day with an optional date, and returns the next such time.
func clockIn(text string, now time.Time) time.Time {
	m := clockReset.FindStringSubmatch(text)
	if m == nil || m[5] == "" && m[6] == "" { // a mere number is not a time
		return time.Time{}
	}
	zone := now.Location()
	if named, err := time.LoadLocation(m[7]); err == nil && m[7] != "" {
		zone = named
	}
	hour, _ := strconv.Atoi(m[4])
	minute, _ := strconv.Atoi("0" + m[5])
	if half := strings.ToLower(m[6]); half != "" {
		hour %= 12
		if half == "pm" {
			hour += 12
		}
	}
	here := now.In(zone)
	if m[1] == "" {
		at := time.Date(here.Year(), here.Month(), here.Day(), hour, minute, 0, 0, zone)
		if !at.After(now) {
			at = time.Date(here.Year(), here.Month(), here.Day()+1, hour, minute, 0, 0, zone)
		}
		return at
	}
	return dated(m, here, hour, minute)
}

// dated returns a time of day with a date, whose year may be missing.
func dated(m []string, here time.Time, hour, minute int) time.Time {
	month := time.Month(1 + strings.Index("janfebmaraprmayjunjulaugsepoctnovdec", strings.ToLower(m[1]))/3)
	day, _ := strconv.Atoi(m[2])
	year, _ := strconv.Atoi("0" + m[3])
	if year != 0 {
		return time.Date(year, month, day, hour, minute, 0, 0, here.Location())
	}
	at := time.Date(here.Year(), month, day, hour, minute, 0, 0, here.Location())
	if at.Before(here) {
		at = time.Date(here.Year()+1, month, day, hour, minute, 0, 0, here.Location())
	}
	return at
}
