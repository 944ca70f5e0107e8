package runs

import (
	"os"
	"path/filepath"
	"testing"

	"pawl"
	"pawl/internal/project"
)

// TestPastRuns: a search opens an ended run again only after its files have changed.
func TestPastRuns(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	p, create := oneStep(t)
	say := func(run pawl.RunID, event pawl.Payload) {
		t.Helper()
		r, err := Perform(t.Context(), p, run, pawl.Author{Kind: pawl.ByPerson}, func(*project.Project, *Run) ([]pawl.Payload, error) { return []pawl.Payload{event}, nil })
		if err == nil {
			err = r.Log.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		settle(t, p, run)
	}
	var made []pawl.RunID
	for range fewRuns + manyEnded {
		run := create()
		say(run, pawl.RunEnded{Status: pawl.StatusCompleted})
		made = append(made, run)
	}
	oldest := made[0]
	unfinished := func(want pawl.RunID) {
		t.Helper()
		if run, err := FindRun(t.Context(), p, ""); err != nil || run != want {
			t.Errorf("the current run is %s, %v; want %s", run, err, want)
		}
	}
	known := func(want bool) {
		t.Helper()
		if files, _ := filesOf(p, oldest); recallEnded(p).has(oldest, files) != want {
			t.Errorf("in the memo: %v", !want)
		}
	}
	known(false)
	unfinished(made[len(made)-1])
	known(true)
	unfinished(made[len(made)-1])

	say(oldest, pawl.RunReopened{})
	known(false)
	unfinished(oldest)
	say(oldest, pawl.RunEnded{Status: pawl.StatusCompleted})
	unfinished(made[len(made)-1])

	if plans, err := filepath.Glob(memoPath(p, p.Runs(), "*", "plan")); err != nil || len(plans) > 0 {
		t.Errorf("memos of short plans take the place of others: %v, %v", plans, err)
	}
	past := recallEnded(p)
	past.runs[oldest], _ = filesOf(p, oldest)
	if err := os.WriteFile(filepath.Join(p.RunDir(oldest), "store.json"), []byte("{}"), 0o600); err != nil { // it moves into a database
		t.Fatal(err)
	}
	if files, _ := filesOf(p, oldest); past.has(oldest, files) {
		t.Error("a run that has got a marker is passed over")
	}
	past.add(oldest, runFiles{})
	if past.fresh > 0 {
		t.Error("a run in a database is remembered")
	}
}
