package pawl_test

import (
	"testing"

	"pawl"
)

func TestParallelOn(t *testing.T) {
	t.Parallel()
	each := pawl.Step{ID: "each", Foreach: &pawl.Foreach{}, Parallel: 8}
	for want, plan := range map[string]pawl.Plan{
		"at most 4 at a time (the number of processors)": {},
		"at most 8 at a time (parallel of step each)":    {Phases: []pawl.Phase{{Steps: []pawl.Step{{ID: "a"}, each}}}},
		"at most 2 at a time (parallel of the plan)":     {Parallel: 2, Phases: []pawl.Phase{{Steps: []pawl.Step{each}}}},
	} {
		if got := plan.ParallelOn(4).String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := (pawl.Parallel{Limit: 3, From: pawl.LimitConfig}).String(); got != "at most 3 at a time (parallel in config.yaml)" {
		t.Error(got)
	}
}

func TestConcurrent(t *testing.T) {
	t.Parallel()
	step := func(id pawl.StepID, needs ...pawl.StepID) pawl.Step { return pawl.Step{ID: id, Needs: needs} }
	for name, c := range map[string]struct {
		steps []pawl.Step
		want  bool
	}{
		"a chain":          {steps: []pawl.Step{step("a"), step("b", "a")}},
		"two beside":       {steps: []pawl.Step{step("a"), step("b")}, want: true},
		"items":            {steps: []pawl.Step{{ID: "a", Foreach: &pawl.Foreach{}}}, want: true},
		"items one by one": {steps: []pawl.Step{{ID: "a", Foreach: &pawl.Foreach{}, Parallel: 1}}},
	} {
		plan := pawl.Plan{Phases: []pawl.Phase{{Steps: c.steps}}}
		if plan.Concurrent() != c.want {
			t.Errorf("%s: Concurrent is %t", name, !c.want)
		}
	}
}
