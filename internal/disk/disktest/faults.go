// Package disktest has a process die, or its calls that change the disk fail, at a call that the environment selects.
package disktest

import (
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"pawl/internal/disk"
	"pawl/test/cases"
)

// FaultVar is the environment variable that selects the fault: "die:17" kills the process with SIGKILL at its 17th
// call, "ENOSPC:17" or "EIO:17" makes that call fail, and "ENOSPC:17-" that call and all later ones. "count" only
// counts. FaultLog names a file to which each process appends its calls, one per line.
//
// Child processes inherit the environment. FaultOnly names the only command whose calls count, such as "supervise".
// FaultCount names a file whose length is a counter shared by all processes, so that "die:17" kills only one of them.
const (
	FaultVar   = "PAWL_FAULT"
	FaultLog   = "PAWL_FAULT_LOG"
	FaultOnly  = "PAWL_FAULT_ONLY"
	FaultCount = "PAWL_FAULT_COUNT"
)

// FaultPoints yields the numbers of the calls, up to calls, at which a test tries a kind of fault, given by its index. The kinds take
// turns, so that together they visit every call; a test of one kind visits a share of the calls. The order of the kinds changes from
// one turn to the next, because programs repeat the same few calls. If tests try every case, each kind visits every call.
func FaultPoints(kind, kinds, calls int) iter.Seq[int] {
	all := cases.All()
	return func(yield func(int) bool) {
		for n := 1; n <= calls; n++ {
			if (all || (n+n/kinds)%kinds == kind) && !yield(n) {
				return
			}
		}
	}
}

// Inject has this process suffer the fault that its environment selects, if any. It must be called before other calls of package disk.
func Inject() {
	if os.Getenv(FaultVar) != "" && counts() {
		disk.Fault = fault
	}
}

// counted are the calls of this process.
var counted struct {
	sync.Mutex
	calls int
}

// fault counts the call, and dies or fails if the environment selects this call.
func fault(call string) error {
	counted.Lock()
	defer counted.Unlock()
	counted.calls = number(counted.calls)
	logCall(call)
	what, at, _ := strings.Cut(os.Getenv(FaultVar), ":")
	at, open := strings.CutSuffix(at, "-")
	n, err := strconv.Atoi(at)
	if err != nil || counted.calls < n || counted.calls > n && !open {
		return nil
	}
	switch what {
	case "die":
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	case "ENOSPC":
		return syscall.ENOSPC
	case "EIO":
		return syscall.EIO
	}
	return nil
}

// counts reports whether this process's calls count.
func counts() bool {
	only := os.Getenv(FaultOnly)
	return only == "" || slices.Contains(os.Args[1:], only)
}

// number returns the number of this call: last+1, or with FaultCount the next value of the shared counter.
func number(last int) int {
	path := os.Getenv(FaultCount)
	if path == "" {
		return last + 1
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, disk.FileMode)
	if err != nil {
		panic("count calls: " + err.Error())
	}
	defer f.Close()
	if _, err := f.Write([]byte{'.'}); err != nil {
		panic("count calls: " + err.Error())
	}
	calls, err := f.Seek(0, io.SeekCurrent) // after our own byte
	if err != nil {
		panic("count calls: " + err.Error())
	}
	return int(calls)
}

func logCall(call string) {
	path := os.Getenv(FaultLog)
	if path == "" {
		return
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	fmt.Fprintf(f, "%d %d %s\n", os.Getpid(), counted.calls, call)
}
