package events_test

import (
	"testing"

	"pawl"
	"pawl/internal/executor/events"
)

// TestMerged: what an agent says of itself counts where it claims no more than came out.
func TestMerged(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ own, came, want pawl.ResultStatus }{
		{pawl.ResultDone, pawl.ResultDone, pawl.ResultDone},
		{pawl.ResultFailed, pawl.ResultDone, pawl.ResultFailed},
		{pawl.ResultBlocked, pawl.ResultDone, pawl.ResultBlocked},
		{pawl.ResultWaiting, pawl.ResultDone, pawl.ResultWaiting},
		{pawl.ResultDone, pawl.ResultFailed, pawl.ResultFailed},
		{pawl.ResultDone, pawl.ResultBlocked, pawl.ResultBlocked},
		{pawl.ResultWaiting, pawl.ResultFailed, pawl.ResultWaiting},
	} {
		own := pawl.Result{Status: c.own, Summary: "its own", Memory: []pawl.Memory{{Kind: pawl.Gotcha, Text: "x"}}}
		got := events.Merged(own, pawl.Result{Status: c.came, Summary: "what came out"})
		if got.Status != c.want || len(got.Memory) != 1 {
			t.Errorf("says %s, came out %s: %+v", c.own, c.came, got)
		}
	}
}
