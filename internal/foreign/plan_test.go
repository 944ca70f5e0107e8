package foreign_test

import (
	"fmt"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/foreign"
	"pawl/internal/planfile"
)

// TestManyStepsAreDense: of very many steps a list takes one line, so that the plan's file stays within its limit.
func TestManyStepsAreDense(t *testing.T) {
	t.Parallel()
	s := foreign.Step{ID: "a", Goal: "Make it", Items: []foreign.Item{{ID: "x", Status: pawl.ItemIsDone}, {ID: "y"}, {ID: "z"}}, Facts: map[string]string{"mood": "calm"}}
	few := foreign.PlanOf(foreign.Reading{Phases: []foreign.Phase{{Steps: []foreign.Step{s}}}}, "claude").Step("a").Agent.Prompt
	if !strings.Contains(few, "Still to be done:\n- y\n- z\n") || !strings.Contains(few, "mood: calm") {
		t.Errorf("%s", few)
	}
	many := foreign.Reading{System: "x", Phases: []foreign.Phase{{}}}
	for i := range 10_000 {
		s.ID, s.Needs = pawl.StepID(fmt.Sprintf("s%d", i)), []pawl.StepID{}
		many.Phases[0].Steps = append(many.Phases[0].Steps, s)
	}
	plan := foreign.PlanOf(many, "claude")
	if _, err := planfile.Write(plan); err != nil {
		t.Error(err)
	}
	if prompt := plan.Step("s7").Agent.Prompt; prompt != "Make it\nDone already, not to be done again: x\nStill to be done: y; z\n" {
		t.Errorf("%s", prompt)
	}
}

// TestIn: what lies in a folder is found there, and the one that was read stays as it is.
func TestIn(t *testing.T) {
	t.Parallel()
	r := foreign.Reading{
		Dir: "api", Saved: []foreign.Checkpoint{{Claims: []foreign.Claim{{Path: "a"}}}},
		Phases: []foreign.Phase{{Steps: []foreign.Step{{ID: "one", Claims: []foreign.Claim{{Path: "a", SHA256: "ab"}}, Items: []foreign.Item{{Outputs: []string{"b"}}}}}}},
	}
	in := r.In("site")
	s := in.Phases[0].Steps[0]
	if in.Dir != "site/api" || s.Claims[0] != (foreign.Claim{Path: "site/a", SHA256: "ab"}) || s.Items[0].Outputs[0] != "site/b" || in.Saved[0].Claims[0].Path != "site/a" {
		t.Errorf("%+v", in)
	}
	if was := r.Phases[0].Steps[0]; r.Dir != "api" || was.Claims[0].Path != "a" || was.Items[0].Outputs[0] != "b" || r.Saved[0].Claims[0].Path != "a" {
		t.Errorf("%+v", r)
	}
}
