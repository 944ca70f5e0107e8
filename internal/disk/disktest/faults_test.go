package disktest

import (
	"testing"

	"pawl/test/cases"
)

// TestFaultPoints checks that the kinds of faults visit every call once together, and each of them every position in a pattern of
// calls that repeats.
func TestFaultPoints(t *testing.T) {
	const calls = 100
	for kinds := 1; kinds <= 5; kinds++ {
		visits := map[int]int{}
		for kind := range kinds {
			positions := map[int]bool{}
			for n := range FaultPoints(kind, kinds, calls) {
				visits[n]++
				positions[n%kinds] = true
			}
			if len(positions) != kinds {
				t.Errorf("kind %d of %d visits the positions %v only", kind, kinds, positions)
			}
		}
		for n := 1; n <= calls; n++ {
			if visits[n] != 1 {
				t.Errorf("%d kinds visit call %d %d times", kinds, n, visits[n])
			}
		}
	}
	t.Setenv(cases.AllVar, "1")
	visited := 0
	for range FaultPoints(2, 3, calls) {
		visited++
	}
	if visited != calls {
		t.Errorf("with %s, %d calls are visited", cases.AllVar, visited)
	}
}
