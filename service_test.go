package pawl_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl"
)

func TestServiceIsReadyUntilItEnds(t *testing.T) {
	t.Parallel()
	s := fold(t, started(ref("db", 1)))
	if s.Steps["db"].Serving() != nil || len(s.Working()) != 1 {
		t.Error("a service serves before it is ready")
	}
	s = applyAll(t, s, pawl.ServiceReady{AttemptRef: ref("db", 1)})
	if s.Steps["db"].Serving() == nil || len(s.Working()) != 0 {
		t.Errorf("a ready service does not serve: %+v", s.Steps["db"])
	}
	if s.Steps["db"].Gives() != s.Steps["db"].Retries.Live.Key.Hash() {
		t.Error("what a service gives is not its key")
	}
	for name, end := range map[string]pawl.Payload{
		"another engine": pawl.EngineStarted{Epoch: 9},
		"released":       pawl.ServiceReleased{AttemptRef: ref("db", 1), Why: "done"},
		"failed":         failed(ref("db", 1)),
		"done":           stepDone(ref("db", 1)),
	} {
		if applyAll(t, s.Clone(), end).Steps["db"].Serving() != nil {
			t.Errorf("%s: it still serves", name)
		}
	}
}

// While a service is not ready, its state says how long and why. The limit counts from the start of its attempt, but anew under an engine
// that found it ready.
func TestNotReady(t *testing.T) {
	t.Parallel()
	s := fold(t, started(ref("db", 1)))
	now := when(1).Add(12500 * time.Millisecond)
	text := func(s *pawl.State) string {
		return s.Steps["db"].Retries.Live.NotReady(pawl.Duration(time.Minute), now)
	}
	waiting := pawl.ServiceWaiting{AttemptRef: ref("db", 1), ServiceWait: pawl.ServiceWait{Since: when(1).Add(10 * time.Second), Exit: -1}}
	ready := applyAll(t, s.Clone(), waiting, pawl.ServiceReady{AttemptRef: ref("db", 1)})
	if w := ready.Steps["db"].Retries.Live.Waiting; w != nil {
		t.Errorf("a ready service is waited for: %+v", w)
	}
	next := pawl.EngineStarted{Epoch: 9}
	for want, state := range map[string]*pawl.State{
		"not ready after 12s of 1m":                   s,
		"not ready after 2s of 1m; check did not end": applyAll(t, s.Clone(), waiting),
		"not ready": applyAll(t, ready, next),
	} {
		if got := text(state); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := text(applyAll(t, s.Clone(), waiting, next)); got != "not ready after 12s of 1m" {
		t.Errorf("under the next engine: %q", got)
	}
}

func TestUsers(t *testing.T) {
	t.Parallel()
	service := func(id pawl.StepID, until pawl.Lifetime, needs ...pawl.StepID) pawl.Step {
		return pawl.Step{ID: id, Needs: needs, Service: &pawl.Service{Until: until}}
	}
	step := func(id pawl.StepID, needs ...pawl.StepID) pawl.Step { return pawl.Step{ID: id, Needs: needs} }
	plan := pawl.Plan{Phases: []pawl.Phase{
		{Steps: []pawl.Step{
			step("late", "api"), service("db", pawl.UntilRun), service("api", pawl.UntilPhase, "db"), step("alone"), step("use", "late"),
		}},
		{Steps: []pawl.Step{step("second"), step("third")}},
	}}
	want := map[pawl.StepID][]pawl.StepID{
		"db":  {"late", "api", "use", "second", "third"},
		"api": {"late", "use"},
	}
	if diff := cmp.Diff(want, plan.Users()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if (&pawl.Plan{Phases: plan.Phases[1:]}).Users() != nil {
		t.Error("a plan without services has users of services")
	}
}
