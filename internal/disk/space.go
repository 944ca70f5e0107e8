package disk

import (
	"errors"
	"fmt"
	"math"
	"os"

	"golang.org/x/sys/unix"
)

// Space is what is free on a file system, for this user.
type Space struct {
	Bytes  uint64 `json:"free_bytes"`
	Inodes uint64 `json:"free_inodes"` // meaningless on file systems that do not count them
	size   uint64 // of the file system
	counts bool   // the file system counts inodes
}

// Limits below which nothing useful can be written: pawl writes its journal in blocks, and several files for each attempt.
const (
	minBytes  = 64 << 10
	minInodes = 8
)

// SpaceOf returns the free space on the file system of path.
func SpaceOf(path string) (Space, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(path, &fs); err != nil {
		return Space{}, fmt.Errorf("free space of %s: %w", path, err)
	}
	blocks := uint64(fs.Bavail)
	if os.Geteuid() == 0 {
		blocks = fs.Bfree // including what is reserved for root
	}
	return Space{Bytes: blocks * uint64(fs.Bsize), Inodes: uint64(fs.Ffree), size: uint64(fs.Blocks) * uint64(fs.Bsize), counts: fs.Files > 0}, nil
}

// Full reports whether the file system is full.
func (s Space) Full() bool { return s.Bytes < minBytes || s.counts && s.Inodes < minInodes }

// maxReserve is the most that Spare leaves free.
const maxReserve = 512 << 20

// Spare returns how many bytes may be written that nobody waits for: what is free, less a twentieth of the file system, or
// less 512 MiB of a large one.
func (s Space) Spare() int64 {
	reserve := min(s.size/20, maxReserve)
	if s.Full() || s.Bytes < reserve {
		return 0
	}
	return int64(min(s.Bytes-reserve, math.MaxInt64))
}

// String says what is missing if the file system is full.
func (s Space) String() string {
	if s.Bytes >= minBytes && s.Full() {
		return fmt.Sprintf("%d inodes free", s.Inodes)
	}
	return fmt.Sprintf("%d bytes free", s.Bytes)
}

// IsFull reports whether an error means that there is no space or that the user's quota is used up.
func IsFull(err error) bool { return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) }
