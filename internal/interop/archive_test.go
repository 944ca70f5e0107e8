package interop

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pawl/internal/interop/format"
	"pawl/internal/interop/format/dotagent"
	"pawl/internal/project"
)

// withArchiveHook returns the format of dotagent with an Archive function that first calls hook.
func withArchiveHook(hook func()) format.Format {
	f := dotagent.Format()
	archive := f.Archive
	f.Archive = func(files format.Files, now time.Time) []format.File {
		hook()
		return archive(files, now)
	}
	return f
}

// TestArchiveHoldsMirrorLock: while pawl archives another system's state, no other pawl process writes its files.
func TestArchiveHoldsMirrorLock(t *testing.T) {
	t.Parallel()
	p, err := project.Init(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(p.Root, "memory", "state", "phase.json")
	if err := os.MkdirAll(filepath.Dir(state), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(state, []byte(`{"workflow_id":"w","current_phase":"REQUIREMENTS"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	held := false
	folders, err := Archive(p, withArchiveHook(func() { held = mirrorIsHeld(t, p) }), p.Root)
	if err != nil || len(folders) == 0 || !held {
		t.Errorf("%q, %v, mirror.lock held: %t", folders, err, held)
	}
	if mirrorIsHeld(t, p) {
		t.Error("mirror.lock is still held")
	}
}

// mirrorIsHeld reports whether the project's mirror lock is held.
func mirrorIsHeld(t *testing.T, p *project.Project) bool {
	t.Helper()
	file, err := os.OpenFile(filepath.Join(p.Home(), "mirror.lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	return unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil
}
