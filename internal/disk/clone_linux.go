package disk

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// CloneFrom fills the empty file with size bytes of another file on the same file system. The files share the data if
// the file system supports that; otherwise the kernel copies it. It returns errors.ErrUnsupported if neither is
// possible.
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
