//go:build linux

package supervise

import (
	"fmt"
	"iter"
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
	for where, pool := range places() {
		states, lost := map[State]int{}, 3
		if pool != "" {
			lost = 2 // the child's record is not written
		}
		for n := 1; n <= calls; n++ {
			t.Run(fmt.Sprint(where, pool, n), func(t *testing.T) {
				a := sh(t, "echo ran >> ledger")
				a.helper(fmt.Sprintf("%s=die:%d", where, n), "ENGINE_POOL="+pool).Wait()
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
		if states[NotBegun] < 2 || where == onlySupervisor && states[Lost] < lost || states[Ended] < 3 {
			t.Errorf("%s %s: %v", where, pool, states)
		}
	}
}

// places yields where a fault happens, and the pool of the engine: none, one, or one whose engine notes the end.
func places() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, where := range []string{inBoth, onlySupervisor} {
			for _, pool := range []string{"", "yes", "noted"} {
				if !yield(where, pool) {
					return
				}
			}
		}
	}
}

// A disk that fails for one call, each in turn: the child never runs without a record of its beginning, and its end is
// recorded once the disk works again.
func TestFailAnywhere(t *testing.T) {
	for where, pool := range places() {
		durable := 4 // the calls that make begun.json durable
		if pool != "" {
			durable = 2
		}
		for n := 1; n <= calls; n++ {
			t.Run(fmt.Sprint(where, pool, n), func(t *testing.T) {
				a := sh(t, "echo ran >> ledger")
				what := []string{"ENOSPC", "EIO"}[n%2]
				a.helper(fmt.Sprintf("%s=%s:%d", where, what, n), "ENGINE_POOL="+pool).Wait()
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
				case where == onlySupervisor && n <= durable && status.State != NotBegun:
					t.Errorf("begun without a record: %s", status.State)
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
