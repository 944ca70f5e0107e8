package bridge

import (
	"os"

	"golang.org/x/sys/unix"
)

// pipeSize is the size of pipes that the kernel writes to. A larger pipe needs fewer switches between the two processes.
const pipeSize = 1 << 20

// enlarge makes a pipe larger, if the system lets this user have a larger one.
func enlarge(f *os.File) {
	raw, err := f.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, pipeSize) })
}

// pending returns the number of bytes in a pipe.
func pending(fd int) (int, error) { return unix.IoctlGetInt(fd, unix.TIOCINQ) }
