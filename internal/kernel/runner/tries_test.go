package runner

import (
	"testing"

	"pawl/internal/kernel"
)

// TestTries: executions that were interrupted or lost, or whose end the runner did not live to record, are counted for their cell. Those
// that failed or finished are not.
func TestTries(t *testing.T) {
	t.Parallel()
	h := newHistory()
	begin := func(id kernel.CellID, key Key) { h.add(0, Record{Begin: &Begin{Cell: id, Key: key}}) }
	end := func(id kernel.CellID, status kernel.Status) {
		h.add(0, Record{End: &End{Cell: id, Ending: kernel.Ending{Status: status}}})
	}
	begin("c1", "a")
	end("c1", kernel.Interrupted)
	begin("c2", "a")
	end("c2", kernel.Lost)
	begin("c3", "a") // and the runner is killed
	begin("c4", "a")
	end("c4", kernel.Failed)
	begin("c5", "a")
	end("c5", kernel.OK)
	begin("c6", "b")
	end("c6", kernel.OK)
	if h.cut["a"] != 3 || h.cut["b"] != 0 {
		t.Errorf("%v", h.cut)
	}
}
