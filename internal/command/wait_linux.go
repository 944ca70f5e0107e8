package command

import "golang.org/x/sys/unix"

// AwaitEnd returns when a child has exited, without reaping it.
func AwaitEnd(pid int) {
	for {
		if err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != unix.EINTR {
			return
		}
	}
}
