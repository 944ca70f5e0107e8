package planfile_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pawl"
	"pawl/internal/planfile"
)

// TestCyclesProperty reads plans with random needs. Read must report a cycle exactly where a step reaches itself, and
// every cycle that it prints must exist in the plan.
func TestCyclesProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.IntRange(0, 8).Draw(t, "steps")
		needs := map[pawl.StepID][]pawl.StepID{}
		text := fmt.Sprintf("name: x\nsteps:\n- {id: s%d, run: x, needs: []}\n", count)
		for i := range count {
			id := pawl.StepID(fmt.Sprint("s", i))
			text += fmt.Sprintf("- {id: %s, run: x, needs: [", id)
			for range rapid.IntRange(0, 3).Draw(t, "needs") {
				need := pawl.StepID(fmt.Sprint("s", rapid.IntRange(0, count).Draw(t, "need")))
				needs[id] = append(needs[id], need)
				text += string(need) + ", "
			}
			text += "]}\n"
		}
		cyclic := false
		for id := range needs {
			cyclic = cyclic || reaches(needs, id, id, map[pawl.StepID]bool{})
		}
		plan, err := planfile.Read("p", []byte(text))
		if (err != nil) != cyclic {
			t.Fatalf("%s\ncycle %v, error %v", text, cyclic, err)
		}
		for _, cycle := range cyclesIn(err) {
			for i, id := range cycle[1:] {
				if !slices.Contains(needs[cycle[i]], id) {
					t.Fatalf("%s\n%s does not need %s: %v", text, cycle[i], id, err)
				}
			}
		}
		if err == nil && len(plan.Steps()) != count+1 {
			t.Fatalf("%s\nread %d steps", text, len(plan.Steps()))
		}
	})
}

// reaches reports whether a chain of one or more needs leads from one step to another.
func reaches(needs map[pawl.StepID][]pawl.StepID, from, to pawl.StepID, visited map[pawl.StepID]bool) bool {
	return slices.ContainsFunc(needs[from], func(need pawl.StepID) bool {
		if need == to {
			return true
		}
		first := !visited[need]
		visited[need] = true
		return first && reaches(needs, need, to, visited)
	})
}

// cyclesIn returns the dependency cycles that an error prints.
func cyclesIn(err error) [][]pawl.StepID {
	list, ok := errors.AsType[*planfile.Errors](err)
	if !ok {
		return nil
	}
	var cycles [][]pawl.StepID
	for _, e := range list.Faults {
		text, ok := strings.CutPrefix(e.Text, "dependency cycle: ")
		if !ok {
			continue
		}
		text, _, _ = strings.Cut(text, ";")
		var cycle []pawl.StepID
		for part := range strings.SplitSeq(text, " → ") {
			id, _, _ := strings.Cut(part, " ")
			cycle = append(cycle, pawl.StepID(id))
		}
		cycles = append(cycles, cycle)
	}
	return cycles
}
