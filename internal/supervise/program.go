package supervise

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"

	"pawl"
	"pawl/internal/version"
)

// programFor returns the path by which the supervisor of a job is started. It is this program itself where the job's command
// is: that path is relative to the process that uses it.
func programFor(job pawl.Job) (string, error) {
	self, err := Self()
	if err != nil || len(job.Command) > 0 && job.Command[0] == self {
		return self, err
	}
	return fastProgram()
}

// fastProgram returns the path of the hook program beside this one, which starts faster, or else of this program itself.
// On Linux the path stays right even when the file is replaced.
var fastProgram = sync.OnceValues(func() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	if f, err := version.OpenHookProgram(filepath.Dir(self)); err == nil {
		path, err := lasting(f)
		f.Close()
		if err == nil {
			return path, nil
		}
	}
	return Self()
})

// Self returns a path to this program that stays right on Linux even when its file was replaced.
func Self() (string, error) {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe", nil
	}
	return os.Executable()
}

// lasting returns a path to an open program that a child of ours can start. On Linux it leads to a descriptor that stays
// open as long as we live, above those that a supervisor is given.
func lasting(f *os.File) (string, error) {
	if runtime.GOOS != "linux" {
		return f.Name(), nil
	}
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, lockFD+1)
	return fmt.Sprintf("/proc/self/fd/%d", fd), err
}
