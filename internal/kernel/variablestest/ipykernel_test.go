package variablestest

import (
	"slices"
	"testing"
)

func TestExactInIPython(t *testing.T) {
	t.Parallel()
	kernels := IPython(t)
	for _, c := range slices.Concat(Exact, Libraries) {
		t.Run(c.Name, func(t *testing.T) { RunExact(t, kernels, c) })
	}
}

func TestUnsaveableInIPython(t *testing.T) {
	t.Parallel()
	kernels := IPython(t)
	for _, c := range Unsaveable {
		t.Run(c.Name, func(t *testing.T) { RunUnsaveable(t, kernels, c) })
	}
}
