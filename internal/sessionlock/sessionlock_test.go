package sessionlock

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// TestLock: a live process holds its lock however old it is; a dead one, and one on another host, for as long as Gyoshu says.
func TestLock(t *testing.T) {
	t.Parallel()
	held := func(text string, later time.Duration, host string, alive bool, started int64) (bool, string) {
		on := Host{Now: noon.Add(later), Name: host, Process: func(pid int64) (bool, int64) { return alive && pid == 4711, started }}
		held, own, why := on.Held([]byte(text), noon)
		if own {
			t.Errorf("%s is not a lock of pawl", text)
		}
		return held, why
	}
	text := fmt.Sprintf(`{"lockId":"u","pid":4711,"processStartTime":900,"hostname":"here","acquiredAt":"%s"}`, noon.Format(time.RFC3339))
	for _, c := range []struct {
		after   time.Duration
		host    string
		alive   bool
		started int64
		held    bool
	}{
		{time.Hour, "here", true, 900, true},    // age proves nothing
		{time.Second, "here", true, 901, false}, // another one with its number
		{time.Hour, "here", true, 0, true},
		{time.Second, "here", false, 0, true},
		{61 * time.Second, "here", false, 0, false},
		{4 * time.Minute, "there", false, 0, true},
		{6 * time.Minute, "there", true, 900, false},
	} {
		if held, why := held(text, c.after, c.host, c.alive, c.started); held != c.held {
			t.Errorf("%s later on %s: held %v, %s", c.after, c.host, held, why)
		}
	}
	for _, none := range []string{"", "{", "{}", `{"lockId":"u","pid":0}`} { // to the original such a one is held for ever
		now, why := held(none, 30*time.Second, "here", true, 0)
		if later, _ := held(none, 2*time.Minute, "here", true, 0); !now || later || why != "it cannot be read" {
			t.Errorf("%q: %v, later %v, %s", none, now, later, why)
		}
	}
}

// TestFolder: where the locks lie.
func TestFolder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ system, name, value, dir string }{
		{"linux", "GYOSHU_RUNTIME_DIR", "/run/g", "/run/g"}, {"linux", "GYOSHU_RUNTIME_DIR", "no/path", "/home/u/.cache/gyoshu/runtime"},
		{"linux", "XDG_RUNTIME_DIR", "/run/u", "/run/u/gyoshu"}, {"darwin", "", "", "/home/u/Library/Caches/gyoshu/runtime"},
	} {
		dir := Folder(c.system, "/home/u", func(name string) string {
			if name == c.name {
				return c.value
			}
			return ""
		})
		if dir != c.dir {
			t.Errorf("%s %s=%s: %s, want %s", c.system, c.name, c.value, dir, c.dir)
		}
	}
	if paths := []string{Notebook("/r", "tides"), Session("/r", "ses_1")}; !slices.Equal(paths, []string{"/r/locks/notebook/c03c018416f2.lock", "/r/46bf2fa87b48/session.lock"}) {
		t.Errorf("paths %q", paths)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"lockId":"u","pid":1,"hostname":"h","acquiredAt":"2026-03-02T12:00:00Z"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		on := Host{Now: noon, Name: "here", Process: func(int64) (bool, int64) { return true, 1 }}
		on.Held(data, noon)
	})
}
