package foreign_test

import (
	"fmt"
	"testing"

	"pawl"
	"pawl/internal/foreign"
	"pawl/internal/planfile"
)

// TestWhatIsNeededComesFirst: whatever steps say they need, of them a plan can be made.
func TestWhatIsNeededComesFirst(t *testing.T) {
	t.Parallel()
	step := func(id pawl.StepID, needs ...pawl.StepID) foreign.Step { return foreign.Step{ID: id, Needs: needs} }
	for _, test := range []struct {
		phases []foreign.Phase
		want   string
		left   int
	}{
		{[]foreign.Phase{{Steps: []foreign.Step{step("1"), step("2", "3"), step("3")}}}, "[1[] 3[] 2[3]]", 0},
		{[]foreign.Phase{{Steps: []foreign.Step{step("1"), step("2", "3"), step("3", "2")}}}, "[1[] 3[] 2[3]]", 1},
		{[]foreign.Phase{{Steps: []foreign.Step{step("1", "1"), step("2", "7")}}}, "[1[] 2[]]", 2},
		{[]foreign.Phase{{Steps: []foreign.Step{step("1", "2")}}, {Steps: []foreign.Step{step("2", "1")}}}, "[1[]] [2[1]]", 1},
		{[]foreign.Phase{{Steps: []foreign.Step{step("4", "3"), step("3", "2"), step("2", "1"), step("1")}}}, "[1[] 2[1] 3[2] 4[3]]", 0},
	} {
		ordered, left := foreign.Ordered(test.phases)
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
		if _, err := planfile.Write(foreign.PlanOf(foreign.Reading{System: "x", Phases: ordered}, "claude")); err != nil {
			t.Error(err)
		}
	}
}
