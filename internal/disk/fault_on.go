//go:build faults

package disk

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// FaultVar is the environment variable that names the fault: "die:17" kills this process with SIGKILL at its 17th call
// through the seam, "ENOSPC:17" or "EIO:17" makes that call fail, "ENOSPC:17-" that one and all later ones.
// "count" only counts. FaultLog names a file to which each process appends its calls, one word a line.
//
// Processes hand the environment on to those that they start. FaultOnly names the one command whose calls count, such
// as "supervise"; FaultCount a file by whose length all processes count together, so that "die:17" kills only one.
const (
	FaultVar   = "PAWL_FAULT"
	FaultLog   = "PAWL_FAULT_LOG"
	FaultOnly  = "PAWL_FAULT_ONLY"
	FaultCount = "PAWL_FAULT_COUNT"
)

var seam struct {
	sync.Mutex
	calls int
}

// fault counts the call and, where the environment says so, dies or fails.
func fault(call string) error {
	spec := os.Getenv(FaultVar)
	if spec == "" || !counts() {
		return nil
	}
	seam.Lock()
	defer seam.Unlock()
	seam.calls = number(seam.calls)
	logCall(call)
	what, at, _ := strings.Cut(spec, ":")
	at, open := strings.CutSuffix(at, "-")
	n, err := strconv.Atoi(at)
	if err != nil || seam.calls < n || seam.calls > n && !open {
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

// counts reports whether this process is one of those that are meant.
func counts() bool {
	only := os.Getenv(FaultOnly)
	return only == "" || slices.Contains(os.Args[1:], only)
}

// number returns the number of the call behind this process's call last, or behind those of all processes: appending a
// byte to the file that they share tells it.
func number(last int) int {
	path := os.Getenv(FaultCount)
	if path == "" {
		return last + 1
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, FileMode)
	if err != nil {
		panic("count calls: " + err.Error())
	}
	defer f.Close()
	if _, err := f.Write([]byte{'.'}); err != nil {
		panic("count calls: " + err.Error())
	}
	calls, err := f.Seek(0, io.SeekCurrent) // behind our own byte
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
	fmt.Fprintf(f, "%d %d %s\n", os.Getpid(), seam.calls, call)
}
