package flags

import (
	"testing"
	"time"
)

func TestWait(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Wait{Forever: {Given: true}, "90s": {true, 90 * time.Second}, "2h": {true, 2 * time.Hour}} {
		var w Wait
		if err := w.Set(text); err != nil || w != want {
			t.Errorf("%s: %+v, %v", text, w, err)
		}
	}
	for _, text := range []string{"", "soon", "-1s", "0s", "10"} {
		if (&Wait{}).Set(text) == nil {
			t.Errorf("%q is accepted", text)
		}
	}
	now := time.Now()
	if w := (Wait{Given: true}); !w.Deadline(now).IsZero() {
		t.Error("a wait without a limit has a deadline")
	}
	if w := (Wait{Limit: time.Minute}); !w.Deadline(now).Equal(now.Add(time.Minute)) {
		t.Error(w.Deadline(now))
	}
}
