package postgres

import (
	"testing"

	"pawl/test/kills/creation"
	"pawl/test/stories/storytest"
)

// TestCreationDiesAnywhere kills pawl while it creates a run in a database, at the calls that disktest.FaultVar selects.
func TestCreationDiesAnywhere(t *testing.T) {
	t.Parallel()
	w := creation.World{T: t, Binary: storytest.Build(t, "faults"), DSN: func() string {
		dsn, err := server.Database(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return dsn
	}}
	w.Run()
	w.Serve()
}
