package postgres_test

import (
	"testing"
	"time"

	"pawl/internal/dispatch/dispatchtest"
	"pawl/internal/postgres"
)

// TestTasks: a database is a carrier, for workers and couriers with connections of their own.
func TestTasks(t *testing.T) {
	t.Parallel()
	const lease = 2 * time.Second
	dispatchtest.Suite(t, func(t *testing.T) dispatchtest.Bench {
		_, dsn := database(t)
		s, err := postgres.Open(t.Context(), dsn)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		return dispatchtest.Bench{Queue: s.Tasks(lease), Lease: lease, Fences: true}
	})
}
