package sessions

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"pawl"
	"pawl/internal/project"
)

// TestSharedPart leaves a process behind whose command is a part of two tool calls that ran at the same time. If both run it in the same
// folder, it is unknown whose it is. Otherwise its folder tells.
func TestSharedPart(t *testing.T) {
	for name, c := range map[string]struct {
		first, second string
		in            string // where it runs
		sure          string // the summary of the call that surely left it; empty for none
	}{
		"one folder":            {"sleep 61.003; date > a", "sleep 61.003 && date > b", "", ""},
		"two folders":           {"cd . && sleep 61.003; date > a", "cd lib && sleep 61.003; date > b", "", "cd . && sleep 61.003; date > a"},
		"all of one, elsewhere": {"sleep 61.003", "cd lib && sleep 61.003", "lib", "cd lib && sleep 61.003"},
		"all of one":            {"sleep 61.003", "cd lib && sleep 61.003", "", "sleep 61.003"},
	} {
		t.Run(name, func(t *testing.T) {
			p := &project.Project{Root: t.TempDir()}
			if err := os.Mkdir(filepath.Join(p.Root, "lib"), 0o700); err != nil {
				t.Fatal(err)
			}
			now := time.Now()
			d := runDoubts{agents: map[pawl.SessionID]int{}}
			for i, summary := range []string{c.first, c.second} {
				d.inDoubt = append(d.inDoubt, &pawl.OperationState{Began: now.Add(time.Duration(i) * time.Millisecond), Operation: pawl.Operation{
					ID: pawl.OperationID(summary), Session: "copilot:1", Kind: pawl.OperationCommand, Tool: "bash", Summary: summary,
				}})
			}
			pid := orphan61(t, filepath.Join(p.Root, c.in))
			found := 0
			for id, all := range orphanedProcesses(p, d) {
				for _, l := range all {
					if l.PID != pid {
						continue
					}
					found++
					if is := l.sure; is != (string(id) == c.sure) || l.shared != (c.sure == "") {
						t.Errorf("%s: sure %v, shared %v; want sure only for %q", id, l.sure, l.shared, c.sure)
					}
				}
			}
			if want := 2 - min(1, len(c.sure)); found != want {
				t.Errorf("process %d is named for %d calls, want %d", pid, found, want)
			}
		})
	}
}

// orphan61 starts a process that has lost its parent.
func orphan61(t *testing.T, dir string) (pid int) {
	t.Helper()
	cmd := exec.Command("sh", "-c", "sleep 61.003 >/dev/null 2>&1 & echo $!")
	cmd.Dir, cmd.SysProcAttr = dir, &syscall.SysProcAttr{Setsid: true}
	out, err := cmd.Output()
	if err == nil {
		pid, err = strconv.Atoi(strings.TrimSpace(string(out)))
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	return pid
}
