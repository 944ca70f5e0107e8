package kills

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pawl/internal/disk/disktest"
	"pawl/test/stories/storytest"
)

// undoPlan writes what is really done and undone into a ledger outside the project, and how often each undo began beside it.
const undoPlan = `name: demo
steps:
  - {id: make, run: echo 1 > out.txt}
  - id: pay
    foreach: {items: [a, b]}
    parallel: 1
    run: echo pay $PAWL_ITEM >> ../ledger
    undo: |
      echo $PAWL_ITEM >> ../begun
      grep -qx "unpay $PAWL_ITEM" ../ledger || echo unpay $PAWL_ITEM >> ../ledger
  - {id: look, run: echo 2 > out.txt}
  - id: charge
    idempotent: false
    run: echo charge >> ../ledger
    undo: echo charge >> ../begun; echo uncharge >> ../ledger
`

// undone is what the ledger must say of each story in the end.
var undone = []string{"pay a", "pay b", "charge", "uncharge", "unpay b", "unpay a"}

// ledger is a project whose run is rolled back, again and again from the same beginning.
type ledger struct {
	*testing.T
	dir, saved, binary string
	gates              int // that a person was asked in this story
}

func newLedger(t *testing.T) *ledger {
	l := &ledger{T: t, dir: filepath.Join(t.TempDir(), "story"), saved: filepath.Join(t.TempDir(), "saved"), binary: storytest.Build(t, "faults")}
	if err := os.MkdirAll(l.path("project"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(l.path("project", "plan.yaml"), []byte(undoPlan), 0o600); err != nil {
		t.Fatal(err)
	}
	l.must("run", "plan.yaml")
	l.copy(l.dir, l.saved)
	return l
}

func (l *ledger) path(names ...string) string {
	return filepath.Join(append([]string{l.dir}, names...)...)
}

func (l *ledger) copy(from, to string) {
	l.Helper()
	if err := os.RemoveAll(to); err != nil {
		l.Fatal(err)
	}
	if out, err := exec.Command("cp", "-a", from, to).CombinedOutput(); err != nil {
		l.Fatalf("copy: %v\n%s", err, out)
	}
}

// pawl runs pawl in the project, and returns what it said and its exit code; -1: it was killed.
func (l *ledger) pawl(fault []string, args ...string) (said string, code int) {
	l.Helper()
	cmd := exec.Command(l.binary, args...)
	cmd.Dir = l.path("project")
	cmd.Env = append(os.Environ(), "HOME="+l.dir, "XDG_STATE_HOME=", "XDG_CONFIG_HOME=", "USER=tester")
	cmd.Env = append(cmd.Env, fault...)
	out, err := cmd.CombinedOutput()
	if exit, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		l.Fatal(err)
	} else if ended {
		return string(out), exit.ExitCode()
	}
	return string(out), 0
}

func (l *ledger) must(args ...string) string {
	l.Helper()
	said, code := l.pawl(nil, args...)
	if code != 0 {
		l.Fatalf("pawl %v: exit code %d\n%s", args, code, said)
	}
	return said
}

func (l *ledger) lines(name string) []string {
	data, err := os.ReadFile(l.path(name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		l.Fatal(err)
	}
	return strings.Fields(strings.ReplaceAll(string(data), " ", "_"))
}

// roll rolls back to the end. A person who is asked looks into the ledger.
func (l *ledger) roll() {
	l.Helper()
	for range 20 {
		said, code := l.pawl(nil, "rollback", "--to", "make", "--yes")
		switch code {
		case 0:
			return
		case 3:
			l.answer(said)
		default:
			l.Fatalf("exit code %d\n%s", code, said)
		}
	}
	l.Fatal("it never ends")
}

var gateOfCharge = regexp.MustCompile(`waiting for gate ([0-9a-f]{8}): The undo command of step charge was killed midway`)

func (l *ledger) answer(said string) {
	l.Helper()
	m := gateOfCharge.FindStringSubmatch(said)
	if m == nil {
		l.Fatalf("it asks without need:\n%s", said)
	}
	l.gates++
	choice := "retry"
	if slices.Contains(l.lines("ledger"), "uncharge") {
		choice = "skip"
	}
	l.must("answer", m[1], choice)
}

// audit compares what is there with what must be: each effect exactly once, in order, and the files as they were.
func (l *ledger) audit() {
	l.Helper()
	want := strings.Fields(strings.ReplaceAll(strings.Join(undone, "\n"), " ", "_"))
	if got := l.lines("ledger"); !slices.Equal(got, want) {
		l.Errorf("ledger: %v", got)
	}
	if out, err := os.ReadFile(l.path("project", "out.txt")); string(out) != "1\n" {
		l.Errorf("out.txt: %q, %v", out, err)
	}
	if said := l.must("status"); !strings.Contains(said, "25%") {
		l.Errorf("status: %s", said)
	}
	if said, code := l.pawl(nil, "verify"); code != 0 || !strings.Contains(said, " 0 faults") {
		l.Errorf("verify: exit code %d\n%s", code, said)
	}
}

// TestRollbackDiesAnywhere kills pawl, or a supervisor, at the calls that change the disk or start a process while a run is rolled
// back, and rolls back again. If only pawl dies, each undo begins once and no gate opens. If a supervisor dies, an idempotent undo may
// begin again, and a gate opens for the other one.
func TestRollbackDiesAnywhere(t *testing.T) {
	t.Parallel()
	for command, share := range map[string]int{"rollback": 3, "supervise": 2} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			l := newLedger(t)
			last, gates := 0, 0
			for n := range disktest.FaultPoints(0, share, math.MaxInt) {
				l.copy(l.saved, l.dir)
				l.gates = 0
				calls := l.path("calls")
				fault := []string{disktest.FaultVar + fmt.Sprintf("=die:%d", n), disktest.FaultOnly + "=" + command, disktest.FaultCount + "=" + calls}
				said, code := l.pawl(fault, "rollback", "--to", "make", "--yes")
				if info, err := os.Stat(calls); err != nil || info.Size() < int64(n) {
					if code != 0 {
						t.Fatalf("without a fault: exit code %d\n%s", code, said)
					}
					break
				}
				if code == 3 {
					l.answer(said)
				}
				l.roll()
				l.audit()
				if begun := l.lines("begun"); command == "rollback" && (len(begun) != 3 || l.gates > 0) {
					t.Errorf("undos begun: %v, gates: %d", begun, l.gates)
				}
				if last = n; l.gates > 0 {
					gates++
				}
				if t.Failed() {
					t.Fatalf("%s killed at call %d", command, n)
				}
			}
			if last < 20 || command == "supervise" && gates == 0 {
				t.Errorf("%s: the last call that was hit is %d; %d gates", command, last, gates)
			}
		})
	}
}
