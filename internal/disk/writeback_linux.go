package disk

import "golang.org/x/sys/unix"

// StartWriteback has the kernel begin to write n bytes from offset to the disk, so that a later Sync waits for less. It guarantees nothing:
// Sync reports what could not be written.
func (f File) StartWriteback(offset, n int64) {
	_ = unix.SyncFileRange(int(f.Fd()), offset, n, unix.SYNC_FILE_RANGE_WRITE)
}
