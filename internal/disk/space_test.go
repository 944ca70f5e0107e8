package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"
)

func TestSpace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		space Space
		full  bool
		text  string
	}{
		{Space{Bytes: 1 << 30, Inodes: 1000, counts: true}, false, "1073741824 bytes free"},
		{Space{Bytes: 4096, Inodes: 1000, counts: true}, true, "4096 bytes free"},
		{Space{Bytes: 1 << 30, Inodes: 3, counts: true}, true, "3 inodes free"},
		{Space{Bytes: 1 << 30}, false, "1073741824 bytes free"}, // a file system that does not count inodes
	} {
		if c.space.Full() != c.full || c.space.String() != c.text {
			t.Errorf("%+v: full %v, %q", c.space, c.space.Full(), c.space)
		}
	}
	for _, c := range []struct {
		free, size uint64
		spare      int64
	}{
		{100 << 20, 1000 << 20, 50 << 20},
		{40 << 20, 1000 << 20, 0},
		{600 << 20, 1 << 40, 88 << 20},
		{500 << 20, 1 << 40, 0},
		{4096, 8192, 0}, // full
	} {
		if got := (Space{Bytes: c.free, size: c.size}).Spare(); got != c.spare {
			t.Errorf("%d of %d bytes free: %d to spare", c.free, c.size, got)
		}
	}
	if space, err := SpaceOf(t.TempDir()); err != nil || space.Bytes == 0 {
		t.Errorf("%+v %v", space, err)
	}
	if !IsFull(fmt.Errorf("append: %w", &fs.PathError{Err: syscall.EDQUOT})) || IsFull(errors.New("no space left on device")) {
		t.Error("IsFull")
	}
}
