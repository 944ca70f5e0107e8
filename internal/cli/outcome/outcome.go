// Package outcome says what a command has done with a run.
package outcome

import (
	"fmt"

	"pawl"
	"pawl/internal/cli/layout"
)

// Paused says that a run is paused, with so many attempts that are still running.
func Paused(run pawl.RunID, live int) string {
	return fmt.Sprintf("run %s paused; %s", run, attempts(live, "no attempt is running", "%s still running"))
}

// Stopping says that a run is being stopped, and how many attempts are terminated.
func Stopping(run pawl.RunID, live int) string {
	return fmt.Sprintf("run %s %s", run, attempts(live, "stopped; no attempt was running", "is stopping; terminating %s"))
}

// Stopped says that so many attempts of a run have ended.
func Stopped(run pawl.RunID, ended int) string {
	return fmt.Sprintf("run %s stopped; %s ended", run, layout.Count(ended, "attempt"))
}

// attempts says how many attempts there are: none, or some with their number.
func attempts(n int, none, some string) string {
	if n == 0 {
		return none
	}
	return fmt.Sprintf(some, layout.Count(n, "attempt"))
}

// Step says what was done with a step, or with items of it.
func Step(step pawl.StepID, items []string, done string, run pawl.RunID) string {
	what := "step " + string(step)
	switch {
	case len(items) == 1:
		what = fmt.Sprintf("item %q of step %s", items[0], step)
	case len(items) > 1:
		what = fmt.Sprintf("%s of step %s", layout.Count(len(items), "item"), step)
	}
	return fmt.Sprintf("%s %s (run %s)", what, done, run)
}

// Gate says how a gate was answered.
func Gate(gate pawl.GateID, done string) string { return fmt.Sprintf("gate %s %s", gate, done) }
