package account

import (
	"fmt"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"pawl"
)

// as calls do in a thread that opens files as the user does, with the user's groups and without root's capabilities. So the kernel itself
// says what the user can do, also by access control lists.
func as(a *pawl.Account, do func(may access)) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine, and nothing else runs in it
		err := become(a)
		if err == nil {
			do(func(path string, how uint32) bool {
				return unix.Faccessat(unix.AT_FDCWD, path, how, unix.AT_EACCESS) == nil
			})
		}
		done <- err
	}()
	return <-done
}

// become changes the user for files of this thread only: other than setuid, these calls do not concern the other threads.
func become(a *pawl.Account) error {
	groups := append([]uint32{a.GID}, a.Groups...)
	if _, _, errno := syscall.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(groups)), uintptr(unsafe.Pointer(&groups[0])), 0); errno != 0 {
		return fmt.Errorf("set the groups of a thread: %w", errno)
	}
	for _, id := range []struct {
		call  uintptr
		value uint32
	}{{unix.SYS_SETFSGID, a.GID}, {unix.SYS_SETFSUID, a.UID}} {
		syscall.RawSyscall(id.call, uintptr(id.value), 0, 0)
		if now, _, _ := syscall.RawSyscall(id.call, ^uintptr(0), 0, 0); uint32(now) != id.value { // the call reports no error
			return fmt.Errorf("set the user of a thread: %d, not %d", now, id.value)
		}
	}
	return nil
}
