package server

import (
	"testing"

	"pawl"
)

// TestMayStart starts no engine over and over again: not for a run whose engines die without finishing anything, and not for one that
// pawl resume refused, until the run changes.
func TestMayStart(t *testing.T) {
	t.Parallel()
	r := newRecovery(Config{})
	s := &pawl.State{Run: "demo", Seq: 10, Steps: map[pawl.StepID]*pawl.StepState{"a": {Status: pawl.Running}}}
	may := func(want bool) {
		t.Helper()
		if ok, why := r.mayStart(s); ok != want || ok == (why != "") {
			t.Errorf("%v, %q; want %v", ok, why, want)
		}
		s.Seq++
	}
	for range maxStarts {
		may(true)
	}
	may(false)
	s.Steps["a"].Status = pawl.Done
	may(true)
	r.tries[s.Run] = try{starts: 1, finished: 1, refused: "the plan was edited", seq: s.Seq}
	may(false)
	may(true) // it has changed
}
