package pawl_test

import (
	"encoding/json"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pawl"
)

func TestDurationString(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "0s", time.Millisecond: "1ms", 90 * time.Second: "1m30s", time.Minute: "1m", 10 * time.Minute: "10m", time.Hour: "1h",
		90 * time.Minute: "1h30m", time.Hour + time.Second: "1h0m1s", 100 * time.Hour: "100h", time.Hour + 10*time.Second: "1h0m10s",
	} {
		if got := pawl.Duration(d).String(); got != want {
			t.Errorf("%d: %s, want %s", d, got, want)
		}
	}
}

func TestDurationRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.SampledFrom([]time.Duration{1, time.Second, time.Minute, time.Hour}).Draw(t, "unit")
		d := pawl.Duration(time.Duration(rapid.Int64Range(0, 1_000_000).Draw(t, "n")) * unit)
		if back, err := pawl.ParseDuration(d.String()); err != nil || back != d {
			t.Fatalf("%s became %s, %v", d, back, err)
		}
		data, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		var back pawl.Duration
		if err := json.Unmarshal(data, &back); err != nil || back != d {
			t.Fatalf("%s became %s, %v", data, back, err)
		}
	})
}

func TestDurationRefuses(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "5", "-1s", "1 h", "soon", "99999999h"} {
		if d, err := pawl.ParseDuration(s); err == nil {
			t.Errorf("%q: accepted as %s", s, d)
		}
	}
	for _, data := range []string{`5`, `null1`, `"5"`, `{}`} {
		var d pawl.Duration
		if err := json.Unmarshal([]byte(data), &d); err == nil || d != 0 {
			t.Errorf("%s: accepted as %s", data, d)
		}
	}
}
