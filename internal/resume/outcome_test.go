package resume

import (
	"errors"
	"slices"
	"testing"
	"time"

	"pawl"
	"pawl/internal/outputs"
)

func TestVerdictOn(t *testing.T) {
	code := func(n int) *int { return &n }
	exit := func(n int) *pawl.Exit { return &pawl.Exit{Reason: pawl.ReasonExited, Exit: code(n)} }
	says := func(s pawl.ResultStatus) *pawl.Result { return &pawl.Result{Status: s, Summary: "so it is"} }
	missing := &outputs.MissingError{Paths: []string{"out"}}
	proved := &pawl.Step{ID: "a", Outputs: []string{"out"}}
	checked := &pawl.Step{ID: "a", Accept: map[string]string{"c": "true"}}
	bare := &pawl.Step{ID: "a"}
	pass, fail := []pawl.CheckRun{{Name: "c"}}, []pawl.CheckRun{{Name: "c", Exit: 2, Output: "x\nbad thing\n"}}

	tests := []struct {
		name    string
		step    *pawl.Step
		ev      Evidence
		done    bool
		adopted bool
		outcome pawl.Outcome
		why     string
	}{
		{"exit 0", bare, Evidence{Begun: true, Exit: exit(0)}, true, false, "", ""},
		{"exit 1", bare, Evidence{Begun: true, Exit: exit(1)}, false, false, pawl.Failed, "exit code 1"},
		{"signal", bare, Evidence{Begun: true, Exit: &pawl.Exit{Reason: pawl.ReasonExited, Signal: "SIGSEGV"}}, false, false, pawl.Failed, "ended by SIGSEGV"},
		{"killed", bare, Evidence{Begun: true, Exit: &pawl.Exit{Reason: pawl.ReasonExited, Signal: "SIGKILL"}}, false, false, pawl.Failed, "ended by SIGKILL, not by pawl"},
		{"killed below a shell", bare, Evidence{Begun: true, Exit: exit(137)}, false, false, pawl.Failed, "exit code 137: a command was killed by signal 9 (SIGKILL), not by pawl"},
		{"terminated below a shell", bare, Evidence{Begun: true, Exit: exit(143)}, false, false, pawl.Failed, "exit code 143: a command was killed by signal 15 (SIGTERM), not by pawl"},
		{"not startable", bare, Evidence{Begun: true, Exit: &pawl.Exit{Reason: pawl.ReasonError, Why: "no such folder"}}, false, false, pawl.Failed, "no such folder"},
		{"done, exit 0", bare, Evidence{Begun: true, Exit: exit(0), Result: says(pawl.ResultDone)}, true, false, "", ""},
		{"done, exit 1", bare, Evidence{Begun: true, Exit: exit(1), Result: says(pawl.ResultDone)}, false, false, pawl.Failed, "exit code 1"},
		{"failed, exit 0", bare, Evidence{Begun: true, Exit: exit(0), Result: says(pawl.ResultFailed)}, false, false, pawl.Failed, "so it is"},
		{"blocked", bare, Evidence{Begun: true, Exit: exit(0), Result: says(pawl.ResultBlocked)}, false, false, pawl.Blocked, "so it is"},
		{"waiting", bare, Evidence{Begun: true, Exit: exit(0), Result: says(pawl.ResultWaiting)}, false, false, pawl.WaitsFor, "so it is"},
		{"unreadable result", bare, Evidence{Begun: true, Exit: exit(0), ResultErr: errors.New("result.json: no")}, false, false, pawl.Failed, "result.json: no"},
		{"output missing", proved, Evidence{Begun: true, Exit: exit(0), OutputsErr: missing}, false, false, pawl.Failed, "missing output: out"},
		{"check fails", checked, Evidence{Begun: true, Exit: &pawl.Exit{Reason: pawl.ReasonExited, Exit: code(0), Checks: fail}}, false, false, pawl.Failed, "check c failed (exit code 2): bad thing"},
		{"check passes", checked, Evidence{Begun: true, Exit: &pawl.Exit{Reason: pawl.ReasonExited, Exit: code(0), Checks: pass}}, true, false, "", ""},
		{"timeout", bare, Evidence{Begun: true, Exit: &pawl.Exit{Reason: pawl.ReasonTimeout, Exit: code(0), Why: "limit"}, Result: says(pawl.ResultDone)}, false, false, pawl.Failed, "limit"},
		{"aborted", bare, Evidence{Begun: true, Exit: &pawl.Exit{Reason: pawl.ReasonAbort}}, false, false, pawl.Aborted, "stopped on request"},
		{"never began", proved, Evidence{}, false, false, pawl.NotStarted, "crashed before it started"},
		{"never began, old result", proved, Evidence{Result: says(pawl.ResultDone)}, false, false, pawl.NotStarted, "crashed before it started"},
		{"lost, silent", proved, Evidence{Begun: true}, false, false, pawl.Lost, "its supervisor died"},
		{"lost, done, outputs", proved, Evidence{Begun: true, Result: says(pawl.ResultDone)}, true, true, "", ""},
		{"lost, done, output missing", proved, Evidence{Begun: true, Result: says(pawl.ResultDone), OutputsErr: missing}, false, false, pawl.Lost, "its supervisor died"},
		{"lost, done, checks pass", checked, Evidence{Begun: true, Result: says(pawl.ResultDone), Checks: pass}, true, true, "", ""},
		{"lost, done, checks fail", checked, Evidence{Begun: true, Result: says(pawl.ResultDone), Checks: fail}, false, false, pawl.Lost, "its supervisor died"},
		{"lost, done, nothing proves it", bare, Evidence{Begun: true, Result: says(pawl.ResultDone)}, false, false, pawl.Lost, "its supervisor died"},
		{"lost, failed", proved, Evidence{Begun: true, Result: says(pawl.ResultFailed)}, false, false, pawl.Lost, "its supervisor died"},
		{"lost, not its supervisor", proved, Evidence{Begun: true, Died: "x died", Swept: 1}, false, false, pawl.Lost, "x died; leftover processes terminated: 1"},
		{"lost, swept", bare, Evidence{Begun: true, Swept: 2, Unkillable: []int{7}}, false, false, pawl.Lost, "its supervisor died; leftover processes terminated: 2; processes that could not be terminated: [7]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			done, adopted, end := Conclude(tt.step, tt.ev)
			if done != tt.done || (adopted != "") != tt.adopted || end.Outcome != tt.outcome || end.Why != tt.why {
				t.Errorf("done %v, adopted %q, outcome %q: %q; want done %v, adopted %v, outcome %q: %q",
					done, adopted, end.Outcome, end.Why, tt.done, tt.adopted, tt.outcome, tt.why)
			}
		})
	}
}

// TestLongCode: code of a kernel step that reaches a long time limit should be several steps.
func TestLongCode(t *testing.T) {
	t.Parallel()
	exit := &pawl.Exit{Reason: pawl.ReasonTimeout, Why: "timed out"}
	const split = "timed out; split the step: code that runs for more than 3m loses much if it is interrupted"
	for _, c := range []struct {
		kernel *pawl.KernelAction
		limit  time.Duration
		want   string
	}{
		{&pawl.KernelAction{Code: "1"}, 4 * time.Minute, split},
		{&pawl.KernelAction{Code: "1"}, 3 * time.Minute, "timed out"},
		{&pawl.KernelAction{File: "a.ipynb"}, time.Hour, "timed out"},
		{nil, time.Hour, "timed out"},
	} {
		step := &pawl.Step{ID: "a", Kernel: c.kernel}
		step.Timeout = pawl.Duration(c.limit)
		if _, _, end := Conclude(step, Evidence{Begun: true, Exit: exit}); end.Why != c.want {
			t.Errorf("%+v, %s: %s", c.kernel, c.limit, end.Why)
		}
	}
}

// TestDied: the reasons of a verdict name the process that died.
func TestDied(t *testing.T) {
	t.Parallel()
	for died, want := range map[string]string{"": "its supervisor died", "x died": "x died"} {
		if v := (Evidence{Begun: true, Died: died}).Judge(&pawl.Step{ID: "a"}); !slices.Contains(v.Reasons, want) {
			t.Errorf("%q: %q", died, v.Reasons)
		}
	}
}

func TestEndedText(t *testing.T) {
	t.Parallel()
	code := 3
	for want, x := range map[string]pawl.Exit{
		"stopped by a person":                                    {Reason: pawl.ReasonAbort, Why: "stopped by a person"},
		"stopped on request: too slow":                           {Reason: pawl.ReasonAbort, Why: "too slow"},
		"finished while pawl was not running":                    {Reason: pawl.ReasonExited, Exit: new(int)},
		"failed while pawl was not running: exit code 3":         {Reason: pawl.ReasonExited, Exit: &code},
		"failed while pawl was not running: ended by SIGSEGV":    {Reason: pawl.ReasonExited, Signal: "SIGSEGV"},
		"terminated while pawl was not running: no output in 1s": {Reason: pawl.ReasonStalled, Why: "no output in 1s"},
	} {
		if got := EndedText(&x); got != want {
			t.Errorf("EndedText(%+v) = %q, want %q", x, got, want)
		}
	}
}

// TestLossesAreLimited: after too many lost attempts in a row a person decides.
func TestLossesAreLimited(t *testing.T) {
	step := &pawl.Step{ID: "a"}
	for before, want := range map[int]pawl.VerdictWord{0: pawl.Restart, MaxLosses - 2: pawl.Restart, MaxLosses - 1: pawl.HumanReview} {
		if got := (Evidence{Begun: true, LostInARow: before}).Judge(step).Word; got != want {
			t.Errorf("%d lost before: %s, want %s", before, got, want)
		}
	}
}
