package kills

import (
	"testing"

	"pawl/test/kills/creation"
	"pawl/test/stories/storytest"
)

// TestCreationDiesAnywhere kills pawl while it creates a run in files, at the calls that disktest.FaultVar selects. Package
// test/stories/postgres has it for a database.
func TestCreationDiesAnywhere(t *testing.T) {
	t.Parallel()
	w := creation.World{T: t, Binary: storytest.Build(t, "faults")}
	w.Run()
	w.Serve()
}
