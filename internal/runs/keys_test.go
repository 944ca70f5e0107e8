package runs_test

import (
	"fmt"
	"testing"
	"time"

	"pawl"
	"pawl/internal/runs"
)

// A key with more needs than fit, which an older version recorded, still compares equal: it did not name what skipped steps pass on.
func TestCompactLike(t *testing.T) {
	t.Parallel()
	older, now := pawl.Key{Needs: map[pawl.StepID]string{"skipped": ""}}, pawl.Key{Needs: map[pawl.StepID]string{"skipped": pawl.PassedOn + "x"}}
	for i := range 70 {
		id := pawl.StepID(fmt.Sprintf("s%d", i))
		older.Needs[id], now.Needs[id] = "same", "same"
	}
	for name, was := range map[string]pawl.Key{"older": older.Compact(), "as now": now.Compact()} {
		if was.NeedsDiffer(runs.CompactLike(was, now)) {
			t.Errorf("%s: the same needs differ", name)
		}
		now.Needs["s1"] = "other"
		if !was.NeedsDiffer(runs.CompactLike(was, now)) {
			t.Errorf("%s: other needs are the same", name)
		}
		now.Needs["s1"] = "same"
	}
}

// What a step passes on is what it needs gives.
func TestOutputDigestsPassOn(t *testing.T) {
	t.Parallel()
	order := map[pawl.StepID][]pawl.StepID{"skipped": {"first"}, "unused": {"first"}, "serving": nil, "behind": {"serving"}}
	state := &pawl.State{Steps: map[pawl.StepID]*pawl.StepState{
		"first":   {Status: pawl.Done, Digest: "1"},
		"skipped": {Status: pawl.Skipped},
		"unused":  {Status: pawl.Done, Summary: "no step needs it any longer"},
		"serving": {Status: pawl.Running, Key: pawl.Key{Definition: "d"}, Retries: pawl.Retries{Live: &pawl.AttemptState{Ready: time.Unix(1, 0)}}},
		"behind":  {Status: pawl.Skipped},
	}}
	digests := func() map[pawl.StepID]string {
		return runs.OutputDigests(order, []pawl.StepID{"skipped", "unused", "behind"}, state)
	}
	before := digests()
	if before["behind"] == pawl.UnknownOutput {
		t.Error("what a service gives that is ready is unknown")
	}
	state.Steps["first"].Digest, state.Steps["serving"].Key.Definition = "2", "other"
	for id, after := range digests() {
		if after == before[id] {
			t.Errorf("%s does not pass on a change", id)
		}
	}
}
