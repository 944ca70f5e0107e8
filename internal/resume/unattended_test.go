package resume_test

import (
	"testing"
	"time"

	"pawl"
	"pawl/internal/resume"
)

// TestUnattended resumes what nobody stopped, and nothing else.
func TestUnattended(t *testing.T) {
	t.Parallel()
	live := &pawl.StepState{Status: pawl.Running, Retries: pawl.Retries{Live: &pawl.AttemptState{AttemptRef: pawl.AttemptRef{Step: "a", Attempt: 1}}}}
	died := &pawl.EngineStarted{Epoch: 1, PID: 1}
	answered := pawl.GateState{Gate: pawl.Gate{ID: "g", Step: "a"}, Answer: &pawl.GateAnswered{Gate: "g", Answer: pawl.Approved}, Closed: time.Unix(2, 0)}
	open := pawl.GateState{Gate: pawl.Gate{ID: "g", Step: "a"}}
	now := time.Unix(3, 0)
	until := func(expires time.Time) []pawl.GateState {
		return []pawl.GateState{open, {Gate: pawl.Gate{ID: "h", Step: "b", Expires: expires}}}
	}
	for name, c := range map[string]struct {
		state  pawl.State
		engine bool
		want   bool
	}{
		"engine died":             {pawl.State{Kind: pawl.PlanRun, Status: pawl.StatusActive, Epoch: 1, Engine: died}, false, true},
		"engine lives":            {pawl.State{Kind: pawl.PlanRun, Status: pawl.StatusActive, Epoch: 1, Engine: died}, true, false},
		"attempts left behind":    {pawl.State{Kind: pawl.PlanRun, Status: pawl.StatusActive, Epoch: 1, Steps: map[pawl.StepID]*pawl.StepState{"a": live}}, false, true},
		"interrupted by a person": {pawl.State{Kind: pawl.PlanRun, Status: pawl.StatusActive, Epoch: 1}, false, false},
		"paused":                  {pawl.State{Kind: pawl.PlanRun, Status: pawl.StatusPaused, Epoch: 1, Engine: died}, false, false},
		"stopped":                 {pawl.State{Kind: pawl.PlanRun, Status: pawl.StatusStopped, Epoch: 1, Engine: died}, false, false},
		"failed":                  {pawl.State{Kind: pawl.PlanRun, Status: pawl.StatusFailed, Epoch: 1}, false, false},
		"completed":               {pawl.State{Kind: pawl.PlanRun, Status: pawl.StatusCompleted, Epoch: 1}, false, false},
		"waits at a gate":         {pawl.State{Kind: pawl.PlanRun, Status: pawl.StatusActive, Epoch: 1, Gates: []pawl.GateState{open}}, false, false},
		"a gate expires later":    {pawl.State{Kind: pawl.PlanRun, Status: pawl.StatusActive, Epoch: 1, Gates: until(now.Add(time.Second))}, false, false},
		"a gate has expired":      {pawl.State{Kind: pawl.PlanRun, Status: pawl.StatusActive, Epoch: 1, Gates: until(now)}, false, true},
		"expired, but paused":     {pawl.State{Kind: pawl.PlanRun, Status: pawl.StatusPaused, Epoch: 1, Gates: until(now)}, false, false},
		"expired, never started":  {pawl.State{Kind: pawl.PlanRun, Status: pawl.StatusActive, Import: pawl.ImportState{System: "grid"}, Gates: until(now)}, false, false},
		"gate answered":           {pawl.State{Kind: pawl.PlanRun, Status: pawl.StatusActive, Epoch: 1, Updated: time.Unix(2, 0), Gates: []pawl.GateState{answered}}, false, true},
		"session":                 {pawl.State{Kind: pawl.SessionRun, Status: pawl.StatusActive}, false, false},
		"durable":                 {pawl.State{Kind: pawl.DurableRun, Status: pawl.StatusActive, Engine: died}, false, false},
		"never started":           {pawl.State{Kind: pawl.PlanRun, Status: pawl.StatusActive}, false, true},
		"command never started":   {pawl.State{Kind: pawl.CommandRun, Status: pawl.StatusActive}, false, true},
		"is being started":        {pawl.State{Kind: pawl.PlanRun, Status: pawl.StatusActive}, true, false},
		"paused before its start": {pawl.State{Kind: pawl.PlanRun, Status: pawl.StatusPaused}, false, false},
		"fork":                    {pawl.State{Kind: pawl.PlanRun, Status: pawl.StatusActive, Forked: &pawl.Fork{}}, false, false},
		"import":                  {pawl.State{Kind: pawl.PlanRun, Status: pawl.StatusActive, Import: pawl.ImportState{System: "grid"}}, false, false},
		"restore unfinished":      {pawl.State{Kind: pawl.PlanRun, Status: pawl.StatusActive, Epoch: 1, Engine: died, Restore: &pawl.RestoreState{}}, false, false},
	} {
		if got, why := resume.Unattended(&c.state, nil, c.engine, now); got != c.want || why == "" {
			t.Errorf("%s: %v, %q", name, got, why)
		}
	}
}
