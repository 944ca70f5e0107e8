package liveview

import (
	"errors"
	"strings"
	"testing"

	"pawl/internal/disk"
	"pawl/internal/project"
)

// TestCheckSpace: a full disk is shown once, and so is its end.
func TestCheckSpace(t *testing.T) {
	t.Parallel()
	var out, errOut strings.Builder
	l := New(&out, &errOut, &project.Project{Root: t.TempDir()}, "")
	roomy := disk.Space{Bytes: 1 << 30}
	for _, c := range []struct {
		space disk.Space
		err   error
	}{{space: roomy}, {}, {}, {space: roomy}, {space: roomy}, {err: errors.New("unknown")}} {
		l.space = func() (disk.Space, error) { return c.space, c.err }
		l.CheckSpace()
	}
	want := "pawl: the disk that holds .pawl is full: 0 bytes free; pawl waits until there is space\npawl: the disk that holds .pawl has space again\n"
	if errOut.String() != want || out.Len() > 0 {
		t.Errorf("shown %q, want %q", errOut.String(), want)
	}
}
