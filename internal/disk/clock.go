package disk

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Clock returns the clock by which a file system stamps its files, as it stamps the file at path, which is made if need
// be: whatever is changed on that file system from now on gets a ctime at or after it.
//
// The system's own clock would not do. Stamps are up to a tick of some milliseconds old, unless somebody has looked at the
// file's stamp since it last changed; then, since Linux 6.13, they are exact, and no later stamp is older.
func Clock(path string) (time.Time, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|os.O_CREATE, 0o600)
	if err != nil {
		return time.Time{}, fmt.Errorf("ask the file system's clock: %w", err)
	}
	defer file.Close()
	var st unix.Stat_t
	fd := int(file.Fd())
	if err := unix.Fstat(fd, &st); err != nil {
		return time.Time{}, fmt.Errorf("ask the file system's clock: %w", err)
	}
	if err := unix.Fchmod(fd, 0o600); err != nil {
		return time.Time{}, fmt.Errorf("ask the file system's clock: %w", err)
	}
	if err := unix.Fstat(fd, &st); err != nil {
		return time.Time{}, fmt.Errorf("ask the file system's clock: %w", err)
	}
	return time.Unix(st.Ctim.Unix()), nil
}
