package disk

import "golang.org/x/sys/unix"

// PunchHole frees the space of the bytes from (inclusive) to (exclusive). They then read as zeros, and all other
// offsets stay. It returns errors.ErrUnsupported if the file system has no holes.
func (f File) PunchHole(from, to int64) error {
	if err := fault("punch"); err != nil {
		return err
	}
	return unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, from, to-from)
}
