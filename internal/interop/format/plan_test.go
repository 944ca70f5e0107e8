package format_test

import (
	"fmt"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/planfile"
)

// TestManyStepsAreDense: of very many steps a list takes one line, so that the plan's file stays within its limit.
func TestManyStepsAreDense(t *testing.T) {
	t.Parallel()
	s := format.Step{ID: "a", Goal: "Make it", Items: []format.Item{{ID: "x", Status: pawl.ItemIsDone}, {ID: "y"}, {ID: "z"}}, Facts: map[string]string{"mood": "calm"}}
	few := format.PlanOf(format.Project{Phases: []format.Phase{{Steps: []format.Step{s}}}}, "claude").Step("a").Agent.Prompt
	if !strings.Contains(few, "Remaining:\n- y\n- z\n") || !strings.Contains(few, "mood: calm") {
		t.Errorf("%s", few)
	}
	many := format.Project{System: "x", Phases: []format.Phase{{}}}
	for i := range 10_000 {
		s.ID, s.Needs = pawl.StepID(fmt.Sprintf("s%d", i)), []pawl.StepID{}
		many.Phases[0].Steps = append(many.Phases[0].Steps, s)
	}
	plan := format.PlanOf(many, "claude")
	if _, err := planfile.Write(plan); err != nil {
		t.Error(err)
	}
	if prompt := plan.Step("s7").Agent.Prompt; prompt != "Make it\nAlready done, do not repeat: x\nRemaining: y; z\n" {
		t.Errorf("%s", prompt)
	}
}

// TestIn: what lies in a folder is found there, and the one that was read stays as it is.
func TestIn(t *testing.T) {
	t.Parallel()
	r := format.Project{
		Dir: "api", Checkpoints: []format.Checkpoint{{Claims: []format.Claim{{Path: "a"}}}},
		Phases: []format.Phase{{Steps: []format.Step{{ID: "one", Claims: []format.Claim{{Path: "a", SHA256: "ab"}}, Items: []format.Item{{Outputs: []string{"b"}}}}}}},
	}
	in := r.In("site")
	s := in.Phases[0].Steps[0]
	if in.Dir != "site/api" || s.Claims[0] != (format.Claim{Path: "site/a", SHA256: "ab"}) || s.Items[0].Outputs[0] != "site/b" || in.Checkpoints[0].Claims[0].Path != "site/a" {
		t.Errorf("%+v", in)
	}
	if was := r.Phases[0].Steps[0]; r.Dir != "api" || was.Claims[0].Path != "a" || was.Items[0].Outputs[0] != "b" || r.Checkpoints[0].Claims[0].Path != "a" {
		t.Errorf("%+v", r)
	}
}
