package decide

import (
	"testing"

	"pawl"
	"pawl/internal/runs"
)

// TestNextEndsServicesAfterAFailure: after a failure a service starts again only if the foreach step that uses it does more without a
// person. Else the run would start the service and end it for ever.
func TestNextEndsServicesAfterAFailure(t *testing.T) {
	for name, tt := range map[string]struct {
		before func(*world)
		want   string
	}{
		"an item has yet to start": {func(*world) {}, "start db"},
		"an item waits for an answer": {func(w *world) {
			y := w.begin("list", "y", 1)
			w.say(pawl.AttemptEnded{AttemptRef: y, Outcome: pawl.Lost, Why: "its supervisor died"})
			gate := Next(runs.NewOutline(w.plan), w.state, w.now, 8)[0].Gate
			gate.ID = gate.Identify()
			w.say(pawl.GateOpened{Gate: gate})
		}, "fail"},
		"the step is blocked": {func(w *world) {
			w.say(pawl.BlockerOpened{Blocker: pawl.Blocker{Text: "no key", Step: "list"}})
		}, "fail"},
		"a step that it needs is pending": {func(w *world) {
			w.say(pawl.StepReopened{Step: "first", Why: "again", Asked: true})
		}, "fail"},
		"all items are done": {func(w *world) {
			y := w.begin("list", "y", 1)
			w.say(pawl.ItemDone{AttemptRef: y})
		}, "start db"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, `
name: p
steps:
  - {id: first, run: ":"}
  - {id: db, run: ":", needs: [], service: {}}
  - {id: list, run: ":", needs: [first, db], foreach: {items: [x, y]}, idempotent: false}
  - {id: other, run: ":", needs: []}
`)
			w.done("first")
			db := w.begin("db", "", 0)
			w.say(pawl.ServiceReady{AttemptRef: db}, pawl.StepListed{Step: "list", Items: []string{"x", "y"}})
			w.say(pawl.ItemDone{AttemptRef: w.begin("list", "x", 0)})
			tt.before(w)
			w.fails("other", pawl.AttemptEnded{Outcome: pawl.Failed, Final: true})
			w.say(pawl.StepFailed{Step: "other", Why: "no"}, pawl.AttemptEnded{AttemptRef: db, Outcome: pawl.Aborted})
			w.want(8, tt.want)
		})
	}
}
