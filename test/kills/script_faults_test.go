package kills

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/disk/disktest"
	"pawl/test/stories/storytest"
)

// scriptPlan has a shell that reads its script from a file. Each part of the script leaves a line in a ledger outside the project.
const scriptPlan = `name: demo
steps:
  - id: work
    shell: sh {}
    idempotent: %t
    run: |
      echo first >> ../ledger
      echo last >> ../ledger
`

// TestScriptFileDiesAnywhere kills the supervisor before, while and after it writes the file of a step's script, at each call that
// changes the disk until it starts the shell. The step then runs once and whole: never a part of the script, and never twice. A step that
// must not be repeated may have begun, as far as pawl can prove: it asks.
func TestScriptFileDiesAnywhere(t *testing.T) {
	t.Parallel()
	binary := storytest.Build(t, "faults")
	for _, idempotent := range []bool{true, false} {
		t.Run(fmt.Sprintf("idempotent %t", idempotent), func(t *testing.T) {
			t.Parallel()
			died := map[string]int{}
			for n, call := 1, ""; call != "spawn"; n++ {
				l := &ledger{T: t, dir: filepath.Join(t.TempDir(), "story"), binary: binary}
				call = l.dieAtScript(n, fmt.Sprintf(scriptPlan, idempotent))
				died[l.scriptFile()]++
				l.finishOnce(fmt.Sprintf("call %d (%s)", n, call), idempotent)
				if n > 30 {
					t.Fatal("the supervisor does not start the shell")
				}
			}
			for _, when := range []string{"before", "during", "after"} {
				if died[when] == 0 {
					t.Errorf("no supervisor died %s the write: %v", when, died)
				}
			}
		})
	}
}

// dieAtScript runs a plan whose first supervisor dies at its nth call, with the engine. It returns that call.
func (l *ledger) dieAtScript(n int, plan string) (call string) {
	l.Helper()
	if err := os.MkdirAll(l.path("project"), 0o700); err != nil {
		l.Fatal(err)
	}
	if err := os.WriteFile(l.path("project", "plan.yaml"), []byte(plan), 0o600); err != nil {
		l.Fatal(err)
	}
	log := l.path("calls.log")
	said, code := l.pawl([]string{
		disktest.FaultVar + fmt.Sprintf("=die:%d", n), disktest.FaultOnly + "=supervise", disktest.FaultCount + "=" + l.path("calls"), disktest.FaultLog + "=" + log,
	}, "run", "plan.yaml")
	if code != 0 && code != 3 {
		l.Fatalf("call %d: exit code %d: %s", n, code, said)
	}
	data, err := os.ReadFile(log)
	if err != nil {
		l.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	if len(lines) < n {
		l.Fatalf("call %d: only %d calls", n, len(lines))
	}
	return lines[n-1][strings.LastIndex(lines[n-1], " ")+1:]
}

// scriptFile says when the first attempt's supervisor died: before, during or after the write of the script's file.
func (l *ledger) scriptFile() string {
	l.Helper()
	dirs, err := filepath.Glob(l.path("project", ".pawl", "runs", "*", "steps", "work", "1"))
	if err != nil || len(dirs) != 1 {
		l.Fatalf("folders of the first attempt: %v %v", dirs, err)
	}
	if _, err := os.Stat(filepath.Join(dirs[0], pawl.ScriptFile)); err == nil {
		return "after"
	}
	if temp, _ := filepath.Glob(filepath.Join(dirs[0], pawl.ScriptFile+".tmp*")); len(temp) > 0 {
		return "during"
	}
	return "before"
}

// finishOnce answers the gate of a step that must not be repeated, and checks that the script ran once, as a whole.
func (l *ledger) finishOnce(where string, idempotent bool) {
	l.Helper()
	if said := l.must("status", "--json"); !idempotent && strings.Contains(said, `"status": "waiting"`) {
		if _, err := os.Stat(l.path("ledger")); err == nil {
			l.Errorf("%s: a step ran before its question", where)
		}
		l.must("retry", "work")
		l.must("resume", "--yes")
	}
	data, err := os.ReadFile(l.path("ledger"))
	if err != nil || string(data) != "first\nlast\n" {
		l.Errorf("%s: the ledger is %q: %v", where, data, err)
	}
	if said := l.must("status", "--json"); !strings.Contains(said, `"status": "completed"`) {
		l.Errorf("%s: %s", where, said)
	}
}
