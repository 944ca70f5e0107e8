package command

import "golang.org/x/sys/unix"

// awaitEnd returns when a child has exited, without reaping it.
func awaitEnd(pid int) {
	for {
		if err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != unix.EINTR {
			return
		}
	}
}
