package disk

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// FileSystemClock returns the current time of a file system's timestamps, by changing the file at path, which it
// creates if necessary. Every later change on that file system gets a ctime at or after the result.
//
// The system's clock is not a substitute. Timestamps lag by up to a tick of some milliseconds, unless the file's
// timestamps were read since its last change; then, since Linux 6.13, they are exact, and no later timestamp is older.
func FileSystemClock(path string) (time.Time, error) {
	file, err := openRegular(path, unix.O_RDONLY|unix.O_CREAT, FileMode)
	if err != nil {
		return time.Time{}, fmt.Errorf("read the file system's clock: %w", err)
	}
	defer file.Close()
	var st unix.Stat_t
	fd := int(file.Fd())
	if err := unix.Fstat(fd, &st); err != nil {
		return time.Time{}, fmt.Errorf("read the file system's clock: %w", err)
	}
	if err := unix.Fchmod(fd, 0o600); err != nil {
		return time.Time{}, fmt.Errorf("read the file system's clock: %w", err)
	}
	if err := unix.Fstat(fd, &st); err != nil {
		return time.Time{}, fmt.Errorf("read the file system's clock: %w", err)
	}
	return time.Unix(st.Ctim.Unix()), nil
}
