package kills

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pawl/internal/disk/disktest"
	"pawl/test/stories/storytest"
)

// fullPlan has two steps, each of which leaves a line.
const fullPlan = "name: demo\nsteps:\n  - {id: one, run: echo one >> ledger}\n  - {id: two, run: echo two >> ledger}\n"

// TestFullDisk: an engine on a disk that is full from some call on says so, waits, and ends at once when it is asked to.
// Later calls are in the engine's append, where it waits; earlier ones are in the making of the run, which fails.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	binary := storytest.Build(t, "faults")
	log := filepath.Join(t.TempDir(), "calls")
	if said, code := runFull(t, binary, fullProject(t), disktest.FaultVar+"=none", disktest.FaultLog+"="+log); code != 0 {
		t.Fatalf("without a fault: exit code %d:\n%s", code, said)
	}
	calls, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	waited := 0
	for _, percent := range []int{20, 55, 65, 75} {
		n := bytes.Count(calls, []byte("\n")) * percent / 100
		dir := fullProject(t)
		said, code := runFull(t, binary, dir, fmt.Sprintf("%s=ENOSPC:%d-", disktest.FaultVar, n))
		if strings.Contains(said, "the disk that holds .pawl is full") {
			waited++
			if code != 130 {
				t.Errorf("call %d: exit code %d, want 130:\n%s", n, code, said)
			}
		} else if code == 0 || !strings.Contains(said, "no space left on device") {
			t.Errorf("call %d: exit code %d:\n%s", n, code, said)
		}
		again := pawlIn(binary, dir, "resume")
		out, err := again.CombinedOutput()
		if err != nil && again.ProcessState.ExitCode() == 7 { // the run was not made
			out, err = pawlIn(binary, dir, "run", "plan.yaml").CombinedOutput()
		}
		if err != nil {
			t.Errorf("call %d: again: %v\n%s", n, err, out)
		}
		if data, err := os.ReadFile(filepath.Join(dir, "ledger")); err != nil || !strings.HasSuffix(string(data), "two\n") {
			t.Errorf("call %d: %q %v", n, data, err)
		}
	}
	if waited == 0 {
		t.Error("no engine waited for space")
	}
}

// fullProject makes a folder with the plan.
func fullProject(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "project")
	if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "plan.yaml"), []byte(fullPlan), 0o600)); err != nil {
		t.Fatal(err)
	}
	return dir
}

func pawlIn(binary, dir string, args ...string) *exec.Cmd {
	cmd := exec.Command(binary, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+filepath.Dir(dir), "XDG_STATE_HOME=", "XDG_CONFIG_HOME=")
	return cmd
}

// runFull runs the plan with a fault, and asks pawl to end once it says that it waits.
func runFull(t *testing.T, binary, dir string, fault ...string) (said string, code int) {
	t.Helper()
	cmd := pawlIn(binary, dir, "run", "plan.yaml")
	cmd.Env = append(append(cmd.Env, disktest.FaultOnly+"=run"), fault...)
	pipe, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
	defer late.Stop()
	var asked time.Time
	for lines := bufio.NewScanner(pipe); lines.Scan(); {
		said += lines.Text() + "\n"
		if strings.Contains(lines.Text(), "waiting, retrying every") && asked.IsZero() {
			asked = time.Now()
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Error(err)
			}
		}
	}
	cmd.Wait() // the exit code says it
	if took := time.Since(asked); !asked.IsZero() && took > time.Minute {
		t.Errorf("%s: it ended %s after SIGTERM:\n%s", fault, took, said)
	}
	return said, cmd.ProcessState.ExitCode()
}
