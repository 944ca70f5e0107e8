package disk_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pawl/internal/disk"
)

// TestClock: what was changed before is never younger than the clock, and what is changed after never older.
func TestClock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	change := func(name string) time.Time {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			t.Fatal(err)
		}
		return time.Unix(st.Ctim.Unix())
	}
	for range 500 {
		before := change("before")
		clock, err := disk.FileSystemClock(filepath.Join(dir, "clock"))
		if err != nil {
			t.Fatal(err)
		}
		if after := change("after"); before.After(clock) || after.Before(clock) {
			t.Fatalf("changed %s before and %s after the clock", clock.Sub(before), after.Sub(clock))
		}
	}
	if _, err := disk.FileSystemClock(filepath.Join(dir, "none", "clock")); err == nil {
		t.Error("a clock in no folder")
	}
}
