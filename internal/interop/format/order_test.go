package format_test

import (
	"fmt"
	"testing"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/planfile"
)

// TestWhatIsNeededComesFirst: whatever steps say they need, of them a plan can be made.
func TestWhatIsNeededComesFirst(t *testing.T) {
	t.Parallel()
	step := func(id pawl.StepID, needs ...pawl.StepID) format.Step { return format.Step{ID: id, Needs: needs} }
	for _, test := range []struct {
		phases []format.Phase
		want   string
		left   int
	}{
		{[]format.Phase{{Steps: []format.Step{step("1"), step("2", "3"), step("3")}}}, "[1[] 3[] 2[3]]", 0},
		{[]format.Phase{{Steps: []format.Step{step("1"), step("2", "3"), step("3", "2")}}}, "[1[] 3[] 2[3]]", 1},
		{[]format.Phase{{Steps: []format.Step{step("1", "1"), step("2", "7")}}}, "[1[] 2[]]", 2},
		{[]format.Phase{{Steps: []format.Step{step("1", "2")}}, {Steps: []format.Step{step("2", "1")}}}, "[1[]] [2[1]]", 1},
		{[]format.Phase{{Steps: []format.Step{step("4", "3"), step("3", "2"), step("2", "1"), step("1")}}}, "[1[] 2[1] 3[2] 4[3]]", 0},
	} {
		ordered, left := format.Ordered(test.phases)
		got := ""
		for i, phase := range ordered {
			var steps []string
			for _, s := range phase.Steps {
				steps = append(steps, fmt.Sprintf("%s%v", s.ID, s.Needs))
			}
			if i > 0 {
				got += " "
			}
			got += fmt.Sprint(steps)
		}
		if got != test.want || len(left) != test.left {
			t.Errorf("%s, not %s; %v", got, test.want, left)
		}
		if _, err := planfile.Write(format.PlanOf(format.Project{System: "x", Phases: ordered}, "claude")); err != nil {
			t.Error(err)
		}
	}
}
