package jupyter_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"pawl/internal/kernel"
	"pawl/internal/kernel/kerneltest"
	"pawl/internal/supervise/process"
)

// holdVar makes this test program hold a kernel until it is killed.
const holdVar = "PAWL_TEST_HOLD_KERNEL"

// TestDiesWithPawl kills the process that holds a kernel. The kernel, its children and the helper end.
func TestDiesWithPawl(t *testing.T) {
	t.Parallel()
	if os.Getenv(holdVar) != "" {
		hold(t)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-test.run", "^TestDiesWithPawl$")
	cmd.Env = append(os.Environ(), holdVar+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pids []int
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var pid int
		if _, err := fmt.Sscanf(lines.Text(), "process %d", &pid); err == nil {
			pids = append(pids, pid)
		}
		if lines.Text() == "ready" {
			break
		}
	}
	table, err := process.Table()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range process.Below(table, cmd.Process.Pid) { // the helper, too
		pids = append(pids, s.PID)
	}
	if len(pids) < 5 {
		t.Errorf("processes %v", pids)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	for _, pid := range pids {
		kerneltest.Retry(t, func() bool { return kerneltest.Gone(pid) })
	}
}

// hold starts a kernel with a child, tells their numbers, and waits to be killed.
func hold(t *testing.T) {
	k := start(t, kernel.Spec{})
	k.Run("a", "import os, subprocess; p = subprocess.Popen(['sleep', '1000']); print(os.getpid(), p.pid)", kernel.OK)
	var kernelPID, child int
	if _, err := fmt.Sscan(k.Output("a"), &kernelPID, &child); err != nil {
		t.Fatal(err)
	}
	fmt.Printf("process %d\nprocess %d\nready\n", kernelPID, child)
	<-k.Done()
}
