package evaluator

import "golang.org/x/sys/unix"

// awaitEnd returns when a child has ended, and leaves it to be waited for.
func awaitEnd(pid int) {
	for {
		if err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != unix.EINTR {
			return
		}
	}
}
