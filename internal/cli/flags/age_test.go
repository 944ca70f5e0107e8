package flags

import (
	"testing"
	"time"
)

func TestAge(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"7d": 7 * 24 * time.Hour, "2w": 14 * 24 * time.Hour, "36h": 36 * time.Hour, "1h30m": 90 * time.Minute,
		"": 0, "d": 0, "0d": 0, "-1d": 0, "7": 0, "99999999999d": 0, "36501d": 0, "-1h": 0, "0s": 0, "1.5d": 0,
	} {
		var got Age
		if err := got.Set(text); time.Duration(got) != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %s, %v", text, time.Duration(got), err)
		}
	}
}
