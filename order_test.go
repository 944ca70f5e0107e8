package pawl_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"pawl"
	"pawl/internal/planfile"
)

func TestNeeds(t *testing.T) {
	t.Parallel()
	plan, err := planfile.Read("plan.yaml", []byte(`
name: needs
phases:
- name: first
  steps:
  - {id: a, run: x}
  - {id: b, run: x}
  - {id: c, run: x, needs: []}
- name: second
  steps:
  - {id: d, run: x}
  - {id: e, run: x}
  - {id: f, run: x, needs: [a]}
  - {id: g, run: x, needs: [e, a]}
- name: third
  steps:
  - {id: h, run: x}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := map[pawl.StepID][]pawl.StepID{
		"a": nil, "b": {"a"}, "c": nil,
		"d": {"a", "b", "c"}, "e": {"d"}, "f": {"a", "b", "c"}, "g": {"e", "a"},
		"h": {"d", "e", "f", "g"},
	}
	if diff := cmp.Diff(want, plan.Order(), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("order: -want +got\n%s", diff)
	}
	for id, needs := range want {
		if diff := cmp.Diff(needs, plan.Needs(id), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("needs of %s: -want +got\n%s", id, diff)
		}
	}
	if needs := plan.Needs("nobody"); needs != nil {
		t.Errorf("needs of nobody: %v", needs)
	}
	waves := [][]pawl.StepID{{"d", "f"}, {"e"}, {"g"}}
	if diff := cmp.Diff(waves, plan.Waves(1)); diff != "" {
		t.Errorf("waves: -want +got\n%s", diff)
	}
}

// TestWavesProperty compares with a model that follows every path of needs.
func TestWavesProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		steps := drawSteps(t)
		plan := &pawl.Plan{Phases: []pawl.Phase{{Name: "one", Steps: steps}}}
		var got []pawl.StepID
		for depth, wave := range plan.Waves(0) {
			if len(wave) == 0 {
				t.Fatalf("wave %d is empty", depth)
			}
			for _, id := range wave {
				if want, _ := depthOf(steps, id, nil); depth != want {
					t.Fatalf("step %s is in wave %d, want %d", id, depth, want)
				}
			}
			got = append(got, wave...)
		}
		for i := range steps {
			_, finite := depthOf(steps, steps[i].ID, nil)
			if finite != slices.Contains(got, steps[i].ID) {
				t.Fatalf("step %s: without a circle %v, in a wave %v", steps[i].ID, finite, !finite)
			}
		}
	})
}

// drawSteps returns up to eight steps that need any of each other.
func drawSteps(t *rapid.T) []pawl.Step {
	steps := make([]pawl.Step, rapid.IntRange(0, 8).Draw(t, "steps"))
	for i := range steps {
		steps[i].ID = pawl.StepID(fmt.Sprint("s", i))
		for range rapid.IntRange(0, 3).Draw(t, "needs") {
			need := rapid.IntRange(0, len(steps)).Draw(t, "need") // the last one is a step of another phase
			steps[i].Needs = append(steps[i].Needs, pawl.StepID(fmt.Sprint("s", need)))
		}
	}
	return steps
}

// depthOf returns the length of the longest way of needs from a step, and whether it has an end.
func depthOf(steps []pawl.Step, id pawl.StepID, way []pawl.StepID) (depth int, finite bool) {
	if slices.Contains(way, id) {
		return 0, false
	}
	i := slices.IndexFunc(steps, func(s pawl.Step) bool { return s.ID == id })
	for _, need := range steps[i].Needs {
		if !slices.ContainsFunc(steps, func(s pawl.Step) bool { return s.ID == need }) {
			continue
		}
		d, ok := depthOf(steps, need, append(slices.Clone(way), id))
		if !ok {
			return 0, false
		}
		depth = max(depth, d+1)
	}
	return depth, true
}

// TestOrderOfTenThousandSteps compares the time for a long chain of steps with that for one of a tenth: ten times as much is linear, a
// hundred times as much is not.
func TestOrderOfTenThousandSteps(t *testing.T) {
	t.Parallel()
	var small, large time.Duration
	for range 5 { // another process may take the processor meanwhile
		if small, large = orderTime(t, 1_000), orderTime(t, 10_000); large <= 40*small+10*time.Millisecond {
			return
		}
	}
	t.Errorf("1,000 steps took %s, 10,000 steps %s", small, large)
}

// orderTime returns the shortest of three times that it takes to order a chain of steps in two phases.
func orderTime(t *testing.T, size int) (best time.Duration) {
	t.Helper()
	steps := make([]pawl.Step, size)
	for i := range steps {
		steps[i].ID = pawl.StepID(fmt.Sprint("s", i))
		if i > 0 {
			steps[i].Needs = []pawl.StepID{"s0", steps[i-1].ID}
		}
	}
	plan := &pawl.Plan{Phases: []pawl.Phase{{Name: "one", Steps: steps}, {Name: "two", Steps: steps}}}
	for try := range 3 {
		begun := time.Now()
		if n := len(plan.Waves(0)); n != size {
			t.Errorf("%d waves of %d steps", n, size)
		}
		if n := len(plan.Order()); n != size {
			t.Errorf("order of %d of %d steps", n, size)
		}
		if took := time.Since(begun); try == 0 || took < best {
			best = took
		}
	}
	return best
}
