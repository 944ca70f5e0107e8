package variables_test

import (
	"testing"

	"pawl/internal/kernel/variablestest"
)

func TestExact(t *testing.T) {
	t.Parallel()
	variablestest.RunExact(t, variablestest.Exact)
}

func TestUnsaveable(t *testing.T) {
	t.Parallel()
	variablestest.RunUnsaveable(t, variablestest.Unsaveable)
}
