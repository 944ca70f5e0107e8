package interop

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/interop/format/gyoshu"
)

// TestLocksAreTaken: while pawl writes, a session of Gyoshu finds the locks held, and so does another pawl. A lock that a dead
// pawl left is replaced; that of another program stays. Without Gyoshu's folder, pawl makes none.
func TestLocksAreTaken(t *testing.T) {
	runtime := t.TempDir()
	t.Setenv("GYOSHU_RUNTIME_DIR", runtime)
	m := &Mirror{Format: gyoshu.Format(), Dir: t.TempDir()}
	run := &pawl.State{Run: "tides-1", Name: "tides"}
	locks := func() (paths []string) {
		paths, err := filepath.Glob(filepath.Join(runtime, "locks", "*", "*"))
		if err != nil {
			t.Fatal(err)
		}
		return paths
	}
	taken := func() func() error {
		t.Helper()
		release, err := m.lock(nil, run)
		if err != nil {
			t.Fatal(err)
		}
		return release
	}
	if release := taken(); len(locks()) != 0 || release() != nil {
		t.Errorf("locks in no folder: %v", locks())
	}
	for _, kind := range []string{"notebook", "report", "queue"} {
		if err := os.MkdirAll(filepath.Join(runtime, "locks", kind), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	release := taken()
	if len(locks()) != 3 {
		t.Errorf("locks %v", locks())
	}
	for _, l := range findLocks(m.Format, nil, run) {
		if !l.held || !l.own {
			t.Errorf("%+v", l)
		}
	}
	if _, err := m.lock(nil, run); pawl.KindOf(err) != pawl.KindHeld {
		t.Errorf("taken twice: %v", err)
	}
	if err := release(); err != nil || len(locks()) != 0 {
		t.Errorf("not released: %v, %v", err, locks())
	}
	path := lockPaths(m.Format, nil, run)[0]
	for owner, replaced := range map[string]bool{"pawl-1": true, "u": false} {
		dead := strings.ReplaceAll(`{"lockId":"OWNER","pid":4194305,"hostname":"HOST","acquiredAt":"2026-03-01T00:00:00Z"}`, "OWNER", owner)
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(dead, "HOST", thisHost().Name)), 0o600); err != nil {
			t.Fatal(err)
		}
		release := taken()
		data, err := os.ReadFile(path)
		if err != nil || strings.Contains(string(data), "4194305") == replaced {
			t.Errorf("%s: %s, %v", owner, data, err)
		}
		if err := release(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(path); (err == nil) == replaced {
			t.Errorf("%s: %v", owner, err)
		}
	}
}
