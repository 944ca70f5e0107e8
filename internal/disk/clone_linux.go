package disk

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// CloneFrom gives the empty file the content of another one of the same file system, size bytes: the two share it where
// the file system can do that, else the kernel copies it. errors.ErrUnsupported: neither is possible here.
func (f File) CloneFrom(source *os.File, size int64) error {
	if err := fault("write"); err != nil {
		return err
	}
	if err := unix.IoctlFileClone(int(f.Fd()), int(source.Fd())); err == nil {
		return nil
	}
	for from := int64(0); from < size; {
		to := from
		n, err := unix.CopyFileRange(int(source.Fd()), &from, int(f.Fd()), &to, int(size-from), 0)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EXDEV), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.EINVAL):
			return errors.ErrUnsupported
		case err != nil:
			return err
		case n == 0:
			return io.ErrUnexpectedEOF
		}
	}
	return nil
}
