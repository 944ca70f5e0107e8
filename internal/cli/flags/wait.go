package flags

import (
	"fmt"
	"time"
)

// Wait is the value of --wait: without a value, as long as it takes.
type Wait struct {
	Given bool
	Limit time.Duration // 0: none
}

// Forever is the value that pflag gives to --wait without one. Help prints it: --wait[=DURATION].
const Forever = "DURATION"

// Set implements pflag.Value.
func (w *Wait) Set(text string) error {
	w.Given, w.Limit = true, 0
	if text == Forever {
		return nil
	}
	limit, err := time.ParseDuration(text)
	if err != nil || limit <= 0 {
		return badNumber(fmt.Sprintf("--wait must be a duration such as 90s, 10m or 2h, not %q", text))
	}
	w.Limit = limit
	return nil
}

// Deadline returns when the wait ends that begins now; the zero time for never.
func (w *Wait) Deadline(now time.Time) time.Time {
	if w.Limit == 0 {
		return time.Time{}
	}
	return now.Add(w.Limit)
}

// String returns the default for help: none.
func (w *Wait) String() string { return "" }

// Type returns nothing: help prints Forever as the placeholder.
func (w *Wait) Type() string { return "" }
