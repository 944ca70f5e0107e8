package sessions

import (
	"testing"
	"time"

	"pawl"
)

// TestUphold: where others went to work since, what was found before counts, and what is found now may only add to it.
func TestUphold(t *testing.T) {
	t.Parallel()
	const done, partly, notDone, unknown = pawl.OperationDone, pawl.OperationPartly, pawl.OperationNotDone, pawl.OperationUnknown
	type found struct {
		verdict, traces pawl.OperationVerdict
		runs            bool
	}
	for _, c := range []struct{ was, now, want found }{
		{found{partly, "", false}, found{notDone, "", false}, found{partly, "", false}},
		{found{notDone, "", false}, found{partly, notDone, true}, found{notDone, "", false}},
		{found{partly, partly, true}, found{unknown, notDone, true}, found{partly, partly, true}},
		{found{partly, notDone, true}, found{done, "", false}, found{done, "", false}},
		{found{partly, partly, true}, found{notDone, "", false}, found{partly, "", false}},
	} {
		d := ReconciledOperation{Verdict: c.now.verdict, Runs: c.now.runs, Traces: c.now.traces}
		d.Until = time.Now()
		d.Judged = &pawl.OperationJudged{Verdict: c.was.verdict, Runs: c.was.runs, Traces: c.was.traces}
		d.keepVerdict()
		if got := (found{d.Verdict, d.Traces, d.Runs}); got != c.want {
			t.Errorf("was %+v, found %+v: %+v, want %+v", c.was, c.now, got, c.want)
		}
	}
}

// A command does not match a longer one that begins with it.
func TestContainsWhole(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"sleep0.3": true, "sh-csleep0.3": true, "bash-cevalsleep0.3</dev/null": true, "sleep0.30": false, "sleep0.30;sleep0.3": true, "sleep": false, "": false,
	} {
		if containsWhole(text, "sleep0.3") != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}
