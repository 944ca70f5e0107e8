//go:build !linux

package jupyter

import (
	"syscall"

	"pawl"
	"pawl/internal/account"
)

// maxrssUnit is the unit of the peak of resident memory in bytes.
const maxrssUnit = 1

// attributes start a child in a process group of its own, as a user unless that is nil.
func attributes(as *pawl.Account) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Credential: account.Credential(as)}
}

// peak returns 0: the peak is known only once the process has ended.
func peak(int) int64 { return 0 }

// catches returns true: the kernels that are asked for stacks have a handler once they are ready.
func catches(int, syscall.Signal) bool { return true }

// killedForMemory returns 0: the system does not say.
func killedForMemory() uint64 { return 0 }
