package disk

import "golang.org/x/sys/unix"

// PunchHole gives the space of the bytes from (inclusive) to (exclusive) back; they read as zeros, and everything else
// stays where it is. errors.ErrUnsupported: not on this file system.
func (f File) PunchHole(from, to int64) error {
	if err := fault("punch"); err != nil {
		return err
	}
	return unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, from, to-from)
}
