package dispatchtest_test

import (
	"testing"
	"time"

	"pawl/internal/dispatch/dispatchtest"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	dispatchtest.Suite(t, func(*testing.T) dispatchtest.Bench {
		return dispatchtest.Bench{Queue: dispatchtest.NewMemory(time.Second), Lease: time.Second, Fences: true}
	})
}
