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

// programFor returns the program to start as supervisor of a job. If the job's command is this program, the supervisor
// must be too, because that path is relative to the process that uses it.
func programFor(job pawl.Job) (string, error) {
	self, err := Self()
	if err != nil || len(job.Command) > 0 && job.Command[0] == self {
		return self, err
	}
	return fastProgram()
}

// fastProgram returns the path of the hook program in the same folder, which starts faster, or of this program. On
// Linux the path stays valid when the file is replaced.
var fastProgram = sync.OnceValues(func() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	if f, err := version.OpenHookProgram(filepath.Dir(self)); err == nil {
		path, err := stablePath(f)
		f.Close()
		if err == nil {
			return path, nil
		}
	}
	return Self()
})

// Self returns a path to this program. On Linux the path stays valid when the file is replaced.
func Self() (string, error) {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe", nil
	}
	return os.Executable()
}

// stablePath returns a path to an open program that a child can start. On Linux it names a descriptor that stays open
// as long as this process, with a higher number than those passed to a supervisor.
func stablePath(f *os.File) (string, error) {
	if runtime.GOOS != "linux" {
		return f.Name(), nil
	}
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, keyFD+1)
	return fmt.Sprintf("/proc/self/fd/%d", fd), err
}
