package format_test

import (
	"testing"
	"time"

	"pawl/internal/interop/format"
)

func TestParseTime(t *testing.T) {
	t.Parallel()
	east := time.FixedZone("east", 2*60*60)
	for text, want := range map[string]string{
		"2026-03-02T10:40:00Z":                "2026-03-02T10:40:00Z zoned",
		" 2026-03-02t10:40:00.123456+01:00\n": "2026-03-02T09:40:00.123456Z zoned",
		"2026-03-02 10:40:00.5-0130":          "2026-03-02T12:10:00.5Z zoned",
		"2026-03-02 10:40:00+00":              "2026-03-02T10:40:00Z zoned",
		"2026-03-02 10:40:00 +0200":           "2026-03-02T08:40:00Z zoned",
		"2026-03-02T10:40Z":                   "2026-03-02T10:40:00Z zoned",
		"2026-03-02T10:40:00.25":              "2026-03-02T08:40:00.25Z",
		"2026-03-02 10:40":                    "2026-03-02T08:40:00Z",
		"2026-03-02":                          "2026-03-01T22:00:00Z",
		"0000-01-01T00:00:00Z":                "none",
		"9999-12-31T23:59:59-01:00":           "none",
		"2026-02-30":                          "none",
		"10:40":                               "none",
		"":                                    "none",
	} {
		at, zoned, ok := format.ParseTimeIn(text, east)
		got := "none"
		if ok {
			got = at.Format(time.RFC3339Nano)
		}
		if zoned {
			got += " zoned"
		}
		if got != want || ok == at.IsZero() {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	if at, zoned, ok := format.ParseTime("2026-03-02 10:40"); !ok || zoned || !at.Equal(time.Date(2026, 3, 2, 10, 40, 0, 0, time.UTC)) {
		t.Errorf("not taken for UTC: %s", at)
	}
}
