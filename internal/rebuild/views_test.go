package rebuild_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/rebuild"
	"pawl/internal/view"
)

// TestViewsReadBack reads back what the views say, as pawl writes them.
func TestViewsReadBack(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	odd := "a|b `c` <d> *e* [f] \\g"
	state := pawl.NewState()
	for i, payload := range []pawl.Payload{
		pawl.RunCreated{Format: 1, Run: run, Kind: pawl.PlanRun, Name: "demo"},
		pawl.AttemptStarted{AttemptRef: pawl.AttemptRef{Step: "one", Attempt: 1, Token: "t"}},
		pawl.StepDone{Step: "one", Attempt: 1, Token: "t", Summary: "all\nis well", Outputs: pawl.Outputs{"a|b.txt": {SHA256: "beef", Size: 7}, "one.txt": {SHA256: "cafe", Size: 1}}},
		pawl.StepSkipped{Step: "once", Why: "no: need"},
		pawl.DecisionMade{Decision: pawl.Decision{Question: odd, Options: []string{"x", "y"}, Choice: "x", Why: odd, By: "anna", Step: "look"}},
		pawl.BlockerOpened{Blocker: pawl.Blocker{Text: "no\nkey", Step: "last", Needs: odd}},
		pawl.BlockerOpened{Blocker: pawl.Blocker{Text: "gone"}},
		pawl.BlockerCleared{ID: 2, How: "found"},
		pawl.AttemptStarted{AttemptRef: pawl.AttemptRef{Step: "last", Attempt: 1, Token: "u"}},
	} {
		event, err := pawl.NewEvent(pawl.Author{Kind: pawl.ByEngine}, payload)
		if err != nil {
			t.Fatal(err)
		}
		event.Seq, event.Time = pawl.Seq(i+1), at
		state.Apply(event)
	}
	files := view.Render(state, readPlan(t))
	read := func(name string) string { return string(files[name]) }

	same(t, rebuild.ReadState(run, read("STATE.md")), &rebuild.StateView{Seq: 9, Steps: map[pawl.StepID]rebuild.StepRow{
		"one": {Status: pawl.Done, Attempts: 1}, "once": {Status: pawl.Skipped}, "look": {Status: pawl.Pending}, "each": {Status: pawl.Pending},
		"last": {Status: pawl.Running, Attempts: 1},
	}})
	same(t, rebuild.StateSeq(run, read("STATE.md")), 9)
	same(t, rebuild.ReadSummary(run, read("SUMMARY-one.md")), rebuild.SummaryView{
		Status: pawl.Done, Started: at, Ended: at, Attempts: 1, Text: "all\nis well",
		Outputs: pawl.Outputs{"a|b.txt": {SHA256: "beef", Size: 7}, "one.txt": {SHA256: "cafe", Size: 1}},
	})
	same(t, rebuild.ReadSummary(run, read("SUMMARY-once.md")).Status, pawl.Skipped)
	same(t, rebuild.ReadDecisions(run, read("DECISIONS.md")), []pawl.Decision{
		{Question: odd, Options: []string{"x", "y"}, Choice: "x", Why: odd, By: "anna", Step: "look", Time: at},
	})
	same(t, rebuild.ReadBlockers(run, read("BLOCKERS.md")), []pawl.Blocker{{Text: "no\nkey", Step: "last", Needs: odd, Opened: at}})

	const other = "other-20261121-120000-abcd"
	if rebuild.ReadState(other, read("STATE.md")) != nil || rebuild.ReadSummary(other, read("SUMMARY-one.md")).Status != "" {
		t.Error("views of another run are believed")
	}
}

func same[T any](t *testing.T, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// FuzzViews reads anything without falling over.
func FuzzViews(f *testing.F) {
	f.Add("# Run x\n\n> A view of run `" + string(run) + "`, written\n\n- **Last activity:** now (event 9)\n\n## Steps\n\n| a |\n|---|\n| b | `one` | done |\n")
	f.Fuzz(func(_ *testing.T, text string) {
		rebuild.ReadState(run, text)
		rebuild.ReadSummary(run, text)
		rebuild.ReadDecisions(run, text)
		rebuild.ReadBlockers(run, text)
	})
}
