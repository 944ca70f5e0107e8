package pawl

import (
	"fmt"
	"time"
)

// Duration is a time.Duration written as Go writes it: "90s", "4m", "1h30m".
type Duration time.Duration

// ParseDuration returns s as a Duration. It must not be negative.
func ParseDuration(s string) (Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q is not a duration; use a form such as 90s, 4m or 1h30m", s)
	}
	return Duration(d), nil
}

// String returns the duration as short as it is exact: "1h", not "1h0m0s".
func (d Duration) String() string {
	t := time.Duration(d)
	s := t.String()
	if t >= time.Minute && t%time.Minute == 0 {
		s = s[:len(s)-len("0s")]
	}
	if t >= time.Hour && t%time.Hour == 0 {
		s = s[:len(s)-len("0m")]
	}
	return s
}

// MarshalText writes the duration as String does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := ParseDuration(string(text))
	*d = parsed
	return err
}

// Notation describes how durations are written.
func (Duration) Notation() (noun, example string) {
	return "a duration", "use a form such as 90s, 4m or 1h30m"
}

// Seconds returns the duration in seconds.
func (d Duration) Seconds() float64 { return time.Duration(d).Seconds() }
