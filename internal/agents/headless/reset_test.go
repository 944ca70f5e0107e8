package headless

import (
	"testing"
	"time"
)

// TestResetIn reads until when limits last, in the words of several agents and models.
func TestResetIn(t *testing.T) {
	t.Parallel()
	here := time.FixedZone("here", 3600)
	now := time.Date(2026, 11, 21, 22, 30, 0, 0, here)
	at := func(month time.Month, day, hour, minute, second int) time.Time {
		return time.Date(2026, month, day, hour, minute, second, 0, here)
	}
	for text, want := range map[string]time.Time{
		"Claude AI usage limit reached|1795303600":                                                  time.Unix(1795303600, 0),
		`{"error":{"type":"usage_limit_reached","resets_at":1795303600,"resets_in_seconds":13872}}`: time.Unix(1795303600, 0),
		`{"error":{"resets_in_seconds": 90}}`:                                                       now.Add(90 * time.Second),
		"try again in 2 days 17 hours 14 minutes.":                                                  now.Add(65*time.Hour + 14*time.Minute),
		"try again in 5 days, 22 hours and 11 minutes":                                              now.Add(142*time.Hour + 11*time.Minute),
		"Please try again in 1.5s.":                                                                 now.Add(1500 * time.Millisecond),
		"Please try again in 6m0s. Visit https://example.com":                                       now.Add(6 * time.Minute),
		"Your quota will reset after 2h3m5s.":                                                       now.Add(2*time.Hour + 3*time.Minute + 5*time.Second),
		`"retryDelay": "3600.5s"`:                                                                   now.Add(3600500 * time.Millisecond),
		"resets 11pm":                                                                               at(11, 21, 23, 0, 0),
		"You've hit your limit · resets 10pm":                                                       at(11, 22, 22, 0, 0),
		"try again at 11:22 PM.":                                                                    at(11, 21, 23, 22, 0),
		"try again at 12:05 AM.":                                                                    at(11, 22, 0, 5, 0),
		"try again at 23:05":                                                                        at(11, 21, 23, 5, 0),
		"resets Nov 23 at 4pm (UTC)":                                                                time.Date(2026, 11, 23, 16, 0, 0, 0, time.UTC),
		"try again at Nov 23rd, 2026 3:45 PM.":                                                      at(11, 23, 15, 45, 0),
		"resets Jan 2, 9am":                                                                         time.Date(2027, 1, 2, 9, 0, 0, 0, here),
		"limit until 2026-11-22T08:00:00Z, wait":                                                    time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC),
		"until 2026-11-22 08:00+02:00":                                                              time.Date(2026, 11, 22, 6, 0, 0, 0, time.UTC),

		"":                                     {},
		"Please try again later.":              {},
		"error at line 12 in 5 files":          {},
		"it was reset in 2024":                 {},
		"reset|1000000000":                     {}, // long ago
		"resets_at: 9999999999":                {}, // in another century
		"try again in 90 days":                 {},
		"in 99999999999999999999999999 hours":  {},
		"try again at Nov 21st, 2025 3:45 PM.": {},
	} {
		if got := resetIn(text, now); !got.Equal(want) {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	if dhaka, err := time.LoadLocation("Asia/Dhaka"); err == nil {
		if got, want := resetIn("resets 1:30am (Asia/Dhaka)", now), time.Date(2026, 11, 23, 1, 30, 0, 0, dhaka); !got.Equal(want) {
			t.Errorf("Dhaka: %s, want %s", got, want)
		}
	}
}
