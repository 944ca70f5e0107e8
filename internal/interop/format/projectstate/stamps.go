package projectstate

import (
	"strings"
	"time"

	"pawl/internal/interop/format"
)

// clockSkew is the clock difference up to which a time does not count as in the future.
const clockSkew = 5 * time.Minute

// likeTime formats a time in UTC like another one: with T or a space, with its kind of zone or none.
func likeTime(at time.Time, model string) string {
	layout, zone := "2006-01-02 15:04:05.000000", ""
	if _, _, ok := format.ParseTime(model); ok {
		if len(model) > 10 && model[10] == 'T' {
			layout = "2006-01-02T15:04:05.000000"
		}
		switch _, zoned, _ := format.ParseTime(model); {
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
