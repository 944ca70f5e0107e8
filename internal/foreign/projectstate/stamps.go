package projectstate

import (
	"strings"
	"time"
)

// skew is how far clocks may differ before a time counts as one of the future.
const skew = 5 * time.Minute

// layouts are those of PostgreSQL, SQLite, Python and RFC 3339, each with any fraction of a second.
var layouts = []string{
	"2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05Z0700", "2006-01-02 15:04:05Z07", "2006-01-02 15:04:05", "2006-01-02 15:04Z07:00",
	"2006-01-02 15:04", "2006-01-02",
}

// parseTime returns a time, and whether it says its zone. Without one it is UTC, as the program writes it.
func parseTime(text string) (at time.Time, zoned, ok bool) {
	text = strings.TrimSpace(text)
	if len(text) > 10 && (text[10] == 'T' || text[10] == 't') {
		text = text[:10] + " " + text[11:]
	}
	for _, layout := range layouts {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC(), strings.Contains(layout, "Z"), true
		}
	}
	return time.Time{}, false, false
}

// likeTime returns a time in UTC as another one is written: with T or a space, with its kind of zone or none.
func likeTime(at time.Time, model string) string {
	layout, zone := "2006-01-02 15:04:05.000000", ""
	if _, _, ok := parseTime(model); ok {
		if len(model) > 10 && model[10] == 'T' {
			layout = "2006-01-02T15:04:05.000000"
		}
		switch _, zoned, _ := parseTime(model); {
		case !zoned:
		case strings.HasSuffix(model, "Z"):
			zone = "Z"
		case len(model) > 3 && (model[len(model)-3] == '+' || model[len(model)-3] == '-'):
			zone = "+00"
		default:
			zone = "+00:00"
		}
	}
	return at.UTC().Format(layout) + zone
}
