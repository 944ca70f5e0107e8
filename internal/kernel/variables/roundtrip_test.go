package variables_test

import (
	"testing"

	"pawl/internal/kernel/variablestest"
)

func TestExact(t *testing.T) {
	t.Parallel()
	for _, c := range variablestest.Exact {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			variablestest.RunExact(t, variablestest.Plain, c)
		})
	}
}

func TestUnsaveable(t *testing.T) {
	t.Parallel()
	for _, c := range variablestest.Unsaveable {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			variablestest.RunUnsaveable(t, variablestest.Plain, c)
		})
	}
}
