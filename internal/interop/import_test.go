package interop

import (
	"slices"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/interop/format"
)

// TestFitPlan: if the texts of the steps are too long for a plan, the prompts name files; if there are too many steps, only the
// first are imported, none of which needs one that is not.
func TestFitPlan(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("-\n", 80_000) // a plan may have 600,000 such marks
	make := func(where string) *importer {
		m := &importer{Source: Source{Project: format.Project{System: "grid", Name: "big", Phases: []format.Phase{{Name: "one"}}}, Agent: "claude"}}
		for _, id := range []pawl.StepID{"a", "b", "c", "d"} {
			m.Phases[0].Steps = append(m.Phases[0].Steps, format.Step{ID: id, Name: "Step " + string(id), Goal: long, Needs: []pawl.StepID{}, Where: where})
		}
		m.Phases[0].Steps[1].Needs = []pawl.StepID{"d"}
		return m
	}

	m := make("plans/a.md:3")
	plan, _, err := m.fitPlan()
	if err != nil || len(plan.Steps()) != 4 || !strings.Contains(plan.Steps()[1].Agent.Prompt, "The file plans/a.md says what to do.") || len(m.Findings) != 1 {
		t.Errorf("%d steps, %v, %v", len(plan.Steps()), m.Findings, err)
	}

	m = make("")
	plan, _, err = m.fitPlan()
	var ids []pawl.StepID
	for _, s := range plan.Steps() {
		ids = append(ids, s.ID)
	}
	if err != nil || !slices.Equal(ids, []pawl.StepID{"a", "c", "d"}) || m.Count() != 3 || !strings.Contains(m.Findings[1].What, "4 steps: only the first 3 were imported") {
		t.Errorf("%v, %v, %v", ids, m.Findings, err)
	}
}
