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

// archiving is the format of dotagent, which calls begun when its state is archived.
func archiving(begun func()) format.Format {
	f := dotagent.Format()
	archive := f.Archive
	f.Archive = func(files format.Files, now time.Time) []format.File {
		begun()
		return archive(files, now)
	}
	return f
}

// TestNobodyMirrorsWhatIsArchived: while another system's state is set aside no other pawl writes its files.
func TestNobodyMirrorsWhatIsArchived(t *testing.T) {
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
	asked := false
	folders, err := ArchiveForeign(p, archiving(func() { asked = mirrorIsHeld(t, p) }), p.Root)
	if err != nil || len(folders) == 0 || !asked {
		t.Errorf("%q, %v, mirror.lock held: %t", folders, err, asked)
	}
	if mirrorIsHeld(t, p) {
		t.Error("mirror.lock is still held")
	}
}

// mirrorIsHeld reports whether somebody keeps other pawls from writing another system's files.
func mirrorIsHeld(t *testing.T, p *project.Project) bool {
	t.Helper()
	file, err := os.OpenFile(filepath.Join(p.Home(), "mirror.lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	return unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil
}
