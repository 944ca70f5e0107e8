package watchdog

import (
	"bytes"
	"testing"
	"time"

	"pawl"
)

// FuzzBeat reads anything as a heartbeat. The silence since then is never negative.
func FuzzBeat(f *testing.F) {
	f.Add([]byte(`{"time":"2026-01-01T00:00:00Z","uptime":12.5,"cpu_seconds":1e308}`))
	f.Add([]byte(`{"uptime":-1e300}{`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var beat pawl.Beat
		var begun pawl.Begun
		_ = firstValue(bytes.NewReader(data), &begun)
		if firstValue(bytes.NewReader(data), &beat) == nil && silence(beat, time.Hour, time.Unix(1e9, 0)) < 0 {
			t.Errorf("%+v", beat)
		}
	})
}
