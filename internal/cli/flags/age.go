package flags

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Age is the value of a flag for a time back from now, such as 7d, 2w or 36h.
type Age time.Duration

// maxDays keeps an age within a time.Duration.
const maxDays = 100 * 365

// Set implements pflag.Value.
func (a *Age) Set(text string) error {
	for suffix, days := range map[string]int{"d": 1, "w": 7} {
		if count, found := strings.CutSuffix(text, suffix); found {
			if n, err := strconv.Atoi(count); err == nil && n > 0 && n <= maxDays/days {
				*a = Age(time.Duration(n*days) * 24 * time.Hour)
				return nil
			}
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return fmt.Errorf("%q is not an age; use a form such as 7d, 2w or 36h", text)
	}
	*a = Age(d)
	return nil
}

func (a *Age) String() string {
	if *a == 0 {
		return ""
	}
	return time.Duration(*a).String()
}

// Type returns the placeholder in help.
func (a *Age) Type() string { return "TIME" }
