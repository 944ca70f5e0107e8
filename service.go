package pawl

import (
	"fmt"
	"slices"
	"time"
)

// Service makes a step a process that other steps need while they run, such as a database or a server. Its needs are settled
// while it is ready; pawl ends it when no step needs it any more.
type Service struct {
	Ready    string   `yaml:"ready,omitempty" json:"ready,omitempty"`       // script that succeeds once the service is ready. Defaults to none: ready once started.
	Interval Duration `yaml:"interval,omitempty" json:"interval,omitempty"` // between two tries of Ready. Defaults to 1s.
	Timeout  Duration `yaml:"timeout,omitempty" json:"timeout,omitempty"`   // until it is ready. Defaults to 1m.
	Until    Lifetime `yaml:"until,omitempty" json:"until,omitempty"`       // Defaults to phase.
	Stop     Duration `yaml:"stop,omitempty" json:"stop,omitempty"`         // from SIGINT to SIGTERM. Defaults to 10s.
	Orphan   Duration `yaml:"orphan,omitempty" json:"orphan,omitempty"`     // how long it runs while no engine works on its run. Defaults to 10m.
}

func (Service) Example() string { return "{ready: curl -fsS localhost:8000}" }

// Lifetime says which steps a service serves.
type Lifetime string

// The lifetimes.
const (
	UntilPhase Lifetime = "phase" // the steps of its phase that need it
	UntilRun   Lifetime = "run"   // all steps that need it
)

// Defaults of services.
const (
	DefaultReadyInterval   = time.Second
	DefaultReadyTimeout    = time.Minute
	DefaultServiceStop     = 10 * time.Second
	DefaultServiceOrphan   = 10 * time.Minute
	DefaultServiceAttempts = 3
)

// Users returns the steps that each service of the plan serves: those that need it, directly or through other steps, within
// its phase or the run. Plans without services give nil.
func (p *Plan) Users() map[StepID][]StepID {
	var users map[StepID][]StepID
	for i := range p.Phases {
		for j := range p.Phases[i].Steps {
			if s := &p.Phases[i].Steps[j]; s.Service != nil {
				if users == nil {
					users = map[StepID][]StepID{}
				}
				users[s.ID] = p.usersOf(s, i)
			}
		}
	}
	return users
}

// usersOf returns the steps that a service in a phase serves, in the order of the plan.
func (p *Plan) usersOf(service *Step, phase int) (users []StepID) {
	last := phase
	if service.Service.Until == UntilRun {
		last = len(p.Phases) - 1
	}
	behind := map[StepID]bool{service.ID: true}
	for grown := true; grown; { // a step may need one that follows it in the plan
		grown = false
		for i := phase; i <= last; i++ {
			for j := range p.Phases[i].Steps {
				s := &p.Phases[i].Steps[j]
				if !behind[s.ID] && (i > phase || anyOf(s.Needs, behind)) { // a later phase needs all steps of this one
					behind[s.ID], grown = true, true
				}
			}
		}
	}
	for i := phase; i <= last; i++ {
		for j := range p.Phases[i].Steps {
			if id := p.Phases[i].Steps[j].ID; behind[id] && id != service.ID {
				users = append(users, id)
			}
		}
	}
	return users
}

func anyOf(ids []StepID, set map[StepID]bool) bool {
	return slices.ContainsFunc(ids, func(id StepID) bool { return set[id] })
}

// Serving returns the live attempt of a service that is ready, or nil. Steps that need the service may then start.
func (st *StepState) Serving() *AttemptState {
	if st == nil || st.Retries.Live == nil || st.Retries.Live.Ready.IsZero() || st.Retries.Live.Released != "" {
		return nil
	}
	return st.Retries.Live
}

// Working returns the live attempts without services that are ready: those that come to an end by themselves.
func (s *State) Working() []*AttemptState {
	var working []*AttemptState
	for _, live := range s.Live() {
		if s.Steps[live.Step].Serving() == nil {
			working = append(working, live)
		}
	}
	return working
}

// ServiceReady records that a service is ready. It holds until the service ends, or another engine takes over.
type ServiceReady struct {
	AttemptRef
}

func (ServiceReady) Event() EventType { return "service.ready" }

func (p ServiceReady) fold(s *State, e Event) error {
	st, t, err := s.live(p.AttemptRef)
	if err != nil {
		return err
	}
	if p.Item != "" {
		return fmt.Errorf("%s is not a service", p.Name())
	}
	t.Live.Ready, t.Live.Waiting, t.LostInARow = e.Time, nil, 0
	st.Key = t.Live.Key
	return nil
}

// ServiceWaiting records that a service is not ready yet, and the last try of its check. An engine journals it at growing intervals.
type ServiceWaiting struct {
	AttemptRef
	ServiceWait
}

// ServiceWait is the time for which a service has not been ready, and the last try of its check.
type ServiceWait struct {
	Since   time.Time `json:"since"`
	Seconds float64   `json:"waited_seconds"` // from Since until the end of the last try
	Limit   float64   `json:"limit_seconds"`
	Exit    int       `json:"exit"`             // of the last try; -1: it did not end
	Output  string    `json:"output,omitempty"` // its last line
}

// Last describes the last try of the check.
func (w ServiceWait) Last() string {
	text := fmt.Sprintf("check failed (exit code %d)", w.Exit)
	if w.Exit < 0 {
		text = "check did not end"
	}
	if w.Output != "" {
		text += ": " + w.Output
	}
	return text
}

// Text describes the wait when it was journaled.
func (w ServiceWait) Text() string {
	whole := func(seconds float64) Duration { return Duration(time.Duration(seconds) * time.Second) }
	return fmt.Sprintf("not ready after %s of %s; %s", whole(w.Seconds), whole(w.Limit), w.Last())
}

func (ServiceWaiting) Event() EventType { return "service.waiting" }

func (p ServiceWaiting) fold(s *State, _ Event) error {
	_, t, err := s.live(p.AttemptRef)
	if err != nil {
		return err
	}
	if p.Item != "" {
		return fmt.Errorf("%s is not a service", p.Name())
	}
	t.Live.Waiting = &p.ServiceWait
	return nil
}

// NotReady describes a live attempt at a service that is not ready: the time since its start, the limit, and the last try of its check,
// if there was one.
func (a *AttemptState) NotReady(limit Duration, now time.Time) string {
	text, since := "not ready", a.notReadySince()
	if !since.IsZero() {
		text += fmt.Sprintf(" after %s of %s", Duration(max(0, now.Sub(since)).Truncate(time.Second)), limit)
	}
	if a.Waiting != nil {
		text += "; " + a.Waiting.Last()
	}
	return text
}

// notReadySince returns the time from which the limit of a service counts. It returns the zero time if the service was ready under an
// earlier engine and this engine has not journaled when it began to wait.
func (a *AttemptState) notReadySince() time.Time {
	switch {
	case a.Waiting != nil:
		return a.Waiting.Since
	case a.WasReady:
		return time.Time{}
	}
	return a.Started
}

// ServiceReleased is an intent to end a service that no step needs any more. However its attempt ends then, the step is done.
type ServiceReleased struct {
	AttemptRef
	Why string `json:"why"`
}

func (ServiceReleased) Event() EventType { return "service.released" }

func (p ServiceReleased) fold(s *State, _ Event) error {
	_, t, err := s.live(p.AttemptRef)
	if err != nil {
		return err
	}
	t.Live.Released = p.Why
	return nil
}
