package pawl_test

import (
	"testing"
	"time"

	"pawl"
)

// TestStanding: one word and one reason for each state, also for those that a person has changed since the last engine.
func TestStanding(t *testing.T) {
	t.Parallel()
	gate := func(answer pawl.Answer) []pawl.GateState {
		return []pawl.GateState{{Gate: pawl.Gate{ID: "g1", Step: "a"}, Answer: &pawl.GateAnswered{Gate: "g1", Answer: answer, Why: "no"}}}
	}
	now := time.Unix(1, 0)
	for name, c := range map[string]struct {
		state  pawl.State
		engine bool
		want   string
	}{
		"crashed":         {pawl.State{Status: pawl.StatusActive, Engine: &pawl.EngineStarted{}}, false, "interrupted"},
		"an old reason":   {pawl.State{Status: pawl.StatusActive, Why: "step a queued for retry"}, false, "interrupted"},
		"running":         {pawl.State{Status: pawl.StatusActive, Engine: &pawl.EngineStarted{}}, true, "active"},
		"failed":          {pawl.State{Status: pawl.StatusFailed, Why: "step a failed"}, false, "failed: step a failed"},
		"rejected":        {pawl.State{Status: pawl.StatusActive, Gates: gate(pawl.Rejected)}, false, "ready to resume: gate g1 rejected"},
		"closed":          {pawl.State{Status: pawl.StatusActive, Gates: []pawl.GateState{{Gate: pawl.Gate{ID: "g1", Step: "a"}, Withdrawn: "its content has changed: x"}}, Steps: map[pawl.StepID]*pawl.StepState{"a": {}}}, false, "ready to resume: gate g1 was closed: its content has changed: x"},
		"queued":          {pawl.State{Status: pawl.StatusActive, Steps: map[pawl.StepID]*pawl.StepState{"a": {Status: pawl.Pending, Retries: pawl.Retries{Again: true}}}}, false, "ready to resume: step a queued for retry"},
		"skipped":         {pawl.State{Status: pawl.StatusActive, Updated: now, Why: "step a queued for retry", Steps: map[pawl.StepID]*pawl.StepState{"a": {Status: pawl.Skipped, Ended: now}}}, false, "ready to resume: step a was skipped"},
		"waiting for two": {pawl.State{Status: pawl.StatusActive, Blockers: []pawl.Blocker{{ID: 1}}, Gates: []pawl.GateState{{Gate: pawl.Gate{ID: "g1"}}}}, false, "waiting: 1 open gate, 1 blocker"},
		"rolling back":    {pawl.State{Status: pawl.StatusActive, Rollback: &pawl.RollbackState{RollbackStarted: pawl.RollbackStarted{Checkpoint: "c1"}}}, false, "interrupted: the rollback to checkpoint c1 is unfinished"},
	} {
		got, why := c.state.Standing(c.engine)
		if why != "" {
			got += ": " + why
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestRerunText: a person's words are quoted, with who said them; pawl's own reasons stand as they are.
func TestRerunText(t *testing.T) {
	t.Parallel()
	rejected := []pawl.GateState{{Gate: pawl.Gate{ID: "g1"}, Answer: &pawl.GateAnswered{Gate: "g1", Answer: pawl.Rejected, Why: "no"}}}
	for name, c := range map[string]struct {
		step  pawl.StepState
		gates []pawl.GateState
		want  string
	}{
		"first attempt":         {pawl.StepState{}, rejected, ""},
		"retry":                 {pawl.StepState{Rejected: pawl.AskedForRetry, Retries: pawl.Retries{Again: true}}, rejected, "a person asked for a retry"},
		"retry with words":      {pawl.StepState{Rejected: "no", Retries: pawl.Retries{Again: true}}, rejected, `a person asked for a retry: "no"`},
		"rejected":              {pawl.StepState{Rejected: "no"}, rejected, `a person rejected gate g1: "no"`},
		"outputs of a need":     {pawl.StepState{Rejected: "outputs of step b changed"}, rejected, "outputs of step b changed"},
		"a retry under way now": {pawl.StepState{Rejected: "flaky"}, nil, "flaky"},
	} {
		s := pawl.State{Steps: map[pawl.StepID]*pawl.StepState{"a": &c.step}, Gates: c.gates}
		if got := s.RerunText("a"); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestTally: a skipped step is not done.
func TestTally(t *testing.T) {
	t.Parallel()
	plan := &pawl.Plan{Phases: []pawl.Phase{{Steps: []pawl.Step{{ID: "a"}, {ID: "b"}, {ID: "c"}}}}}
	s := pawl.State{Steps: map[pawl.StepID]*pawl.StepState{"a": {Status: pawl.Done}, "b": {Status: pawl.Skipped}}}
	if got := s.Tally(plan); got.Total != 3 || len(got.Done) != 1 || got.Done[0] != "a" || len(got.Skipped) != 1 || got.Skipped[0] != "b" {
		t.Errorf("%+v", got)
	}
}
