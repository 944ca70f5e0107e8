package command

import "golang.org/x/sys/unix"

// AwaitEnd returns when a child has exited, without reaping it.
func AwaitEnd(pid int) {
	queue, err := unix.Kqueue()
	if err != nil {
		return
	}
	defer unix.Close(queue)
	end := []unix.Kevent_t{{Ident: uint64(pid), Filter: unix.EVFILT_PROC, Flags: unix.EV_ADD | unix.EV_ONESHOT, Fflags: unix.NOTE_EXIT}}
	for {
		if _, err := unix.Kevent(queue, end, make([]unix.Kevent_t, 1), nil); err != unix.EINTR {
			return
		}
	}
}
