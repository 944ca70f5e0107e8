package format

import (
	"strings"
	"time"
)

// after separates a criterion from the time after which the file that it requires must have been written.
const after = ", written after "

// WithTime returns a criterion that requires a file written after a time.
func WithTime(criterion string, at time.Time) string {
	return criterion + after + at.UTC().Format(time.RFC3339Nano)
}

// CutTime returns a criterion without the time in it, and that time; zero if it has none.
func CutTime(name string) (criterion string, at time.Time) {
	i := strings.LastIndex(name, after)
	if i < 0 {
		return name, time.Time{}
	}
	at, err := time.Parse(time.RFC3339Nano, name[i+len(after):])
	if err != nil {
		return name, time.Time{}
	}
	return name[:i], at
}
