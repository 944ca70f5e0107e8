//go:build linux

package supervise

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/disk/disktest"
)

// inBoth sets the fault in the engine and in its supervisor, onlySupervisor in the latter.
const (
	inBoth         = disktest.FaultVar
	onlySupervisor = "SUPERVISOR_FAULT"
)

// calls is more than either makes.
const calls = 24

// Killed at any call through the seam, engine and supervisor leave no doubt: what has not begun has not run, and what
// has ended has run.
func TestDieAnywhere(t *testing.T) {
	for _, where := range []string{inBoth, onlySupervisor} {
		states := map[State]int{}
		for n := 1; n <= calls; n++ {
			t.Run(fmt.Sprint(where, n), func(t *testing.T) {
				a := sh(t, "echo ran >> ledger")
				a.helper(fmt.Sprintf("%s=die:%d", where, n)).Wait()
				a.no(Attach(a.dir).Wait(a.soon()))
				status, err := Probe(a.dir)
				a.no(err)
				_, _, err = Sweep(a.dir, "")
				a.no(err)
				ledger, _ := os.ReadFile(filepath.Join(a.work, "ledger"))
				if status.State == NotBegun && ledger != nil || status.State == Ended && string(ledger) != "ran\n" {
					t.Errorf("%s, but ran %q", status.State, ledger)
				}
				states[status.State]++
			})
		}
		if states[NotBegun] < 2 || where == onlySupervisor && states[Lost] < 3 || states[Ended] < 3 {
			t.Errorf("%s: %v", where, states)
		}
	}
}

// A disk that fails for one call, each in turn: the child never runs without a record of its beginning, and its end is
// recorded once the disk works again.
func TestFailAnywhere(t *testing.T) {
	for _, where := range []string{inBoth, onlySupervisor} {
		for n := 1; n <= calls; n++ {
			t.Run(fmt.Sprint(where, n), func(t *testing.T) {
				a := sh(t, "echo ran >> ledger")
				what := []string{"ENOSPC", "EIO"}[n%2]
				a.helper(fmt.Sprintf("%s=%s:%d", where, what, n)).Wait()
				a.no(Attach(a.dir).Wait(a.soon()))
				status, err := Probe(a.dir)
				a.no(err)
				ledger, _ := os.ReadFile(filepath.Join(a.work, "ledger"))
				_, made := os.Stat(a.dir)
				switch {
				case made != nil: // no engine has an intent of it, so nobody asks
					if ledger != nil {
						t.Error("ran without a folder")
					}
				case where == onlySupervisor && n <= 4 && status.State != NotBegun: // the calls that make begun.json
					t.Errorf("begun without a durable record: %s", status.State)
				case status.State == Lost:
					t.Errorf("lost: %s", a.read(pawl.ErrFile))
				case status.State == NotBegun && ledger != nil:
					t.Error("ran without a record")
				case status.State == Ended && status.Exit.Reason == pawl.ReasonExited && string(ledger) != "ran\n":
					t.Errorf("ended, but ran %q", ledger)
				case status.State == Ended && status.Exit.Reason == pawl.ReasonError && !strings.Contains(status.Exit.Why, "start"):
					t.Errorf("exit %+v", status.Exit)
				}
			})
		}
	}
}
