// Package formattest builds the runs that tests of formats export, event by event, and applies written files as a disk would.
package formattest

import (
	"testing"
	"time"

	"pawl"
	"pawl/internal/planfile"
)

// Run is a run in progress.
type Run struct {
	T     testing.TB
	State *pawl.State
	Plan  *pawl.Plan
	Now   time.Time
}

// New returns a run of a plan without events.
func New(t testing.TB, plan *pawl.Plan, at time.Time) *Run {
	return &Run{T: t, State: pawl.NewState(), Plan: plan, Now: at}
}

// Plan parses a plan.
func Plan(t testing.TB, text string) *pawl.Plan {
	t.Helper()
	plan, err := planfile.Read("plan.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// Add applies events, a minute after the previous ones. A rejected event fails the test.
func (r *Run) Add(events ...pawl.Payload) {
	r.T.Helper()
	r.Now = r.Now.Add(time.Minute)
	for _, payload := range events {
		misfits := r.State.RejectedCount
		e, err := pawl.NewEvent(pawl.Author{Kind: pawl.ByEngine}, payload)
		if err != nil {
			r.T.Fatal(err)
		}
		e.Seq, e.Time, e.Epoch = r.State.Seq+1, r.Now.UTC(), r.State.Epoch
		r.State.Apply(e)
		if r.State.RejectedCount > misfits {
			r.T.Fatalf("%s does not fit: %s", payload.Event(), r.State.RejectedEvents[len(r.State.RejectedEvents)-1].Why)
		}
	}
}

// AddEach applies events, each a minute after the previous one.
func (r *Run) AddEach(events ...pawl.Payload) {
	r.T.Helper()
	for _, e := range events {
		r.Add(e)
	}
}
