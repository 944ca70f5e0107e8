package pawl

import "cmp"

// The ids of the steps that run a plan's handlers. No other step of a plan with that handler has such an id.
const (
	OnSuccess StepID = "on_success"
	OnFailure StepID = "on_failure"
)

// Handler is a script that runs before a run ends, as a step of its own. It does not change how the run ends.
type Handler struct {
	Run     string   `yaml:"run" json:"run"`
	Shell   Shell    `yaml:"shell,omitempty" json:"shell,omitempty"` // Defaults to the plan's.
	Dir     string   `yaml:"dir,omitempty" json:"dir,omitempty"`     // Defaults to the plan's, then to the project root.
	Env     Env      `yaml:"env,omitempty" json:"env,omitempty"`
	Timeout Duration `yaml:"timeout,omitempty" json:"timeout,omitempty"` // Defaults to the plan's, then to 1h.
	Retry   Retry    `yaml:"retry,omitempty" json:"retry,omitzero"`
}

// Short returns what a plan sets if it writes a handler as a text.
func (h *Handler) Short() any { return &h.Run }

// Example returns an example value in plan syntax.
func (Handler) Example() string { return "{run: ./report, timeout: 5m}" }

// Elsewhere is Step.Elsewhere for the keys of a handler.
func (Handler) Elsewhere(key string) (own, advice string) {
	own, advice = stepElsewhere.find(key)
	switch own {
	case "run", "shell", "dir", "env", "timeout", "retry":
		return own, advice
	}
	return "", ""
}

// Handlers returns the steps of the plan's handlers. Steps does not contain them: they are not part of the plan's work.
func (p *Plan) Handlers() []*Step {
	var steps []*Step
	for _, h := range []struct {
		id      StepID
		handler *Handler
	}{{OnSuccess, p.OnSuccess}, {OnFailure, p.OnFailure}} {
		if h.handler != nil {
			steps = append(steps, p.handlerStep(h.id, h.handler))
		}
	}
	return steps
}

// Handler returns the step that runs when a run of the plan ends with this status, nil if there is none.
func (p *Plan) Handler(status RunStatus) *Step {
	id := OnFailure
	if status == StatusCompleted {
		id = OnSuccess
	}
	for _, step := range p.Handlers() {
		if step.ID == id {
			return step
		}
	}
	return nil
}

// HandlesEnd reports whether the id is that of one of the plan's handlers.
func (p *Plan) HandlesEnd(id StepID) bool {
	return id == OnSuccess && p.OnSuccess != nil || id == OnFailure && p.OnFailure != nil
}

func (p *Plan) handlerStep(id StepID, h *Handler) *Step {
	d := &p.Defaults
	return &Step{
		ID: id, Name: string(id), Needs: []StepID{}, Run: h.Run, Env: h.Env,
		Shell: cmp.Or(h.Shell, d.Shell), Dir: cmp.Or(h.Dir, d.Dir),
		Timeout:  cmp.Or(h.Timeout, d.Timeout, Duration(DefaultTimeout)),
		Grace:    cmp.Or(d.Grace, Duration(DefaultGrace)),
		Stall:    cmp.Or(d.Stall, Duration(DefaultStall)),
		Estimate: cmp.Or(d.Estimate, Duration(DefaultEstimate)),
		Retry: Retry{
			Attempts: cmp.Or(h.Retry.Attempts, d.Retry.Attempts, 1),
			Backoff:  cmp.Or(h.Retry.Backoff, d.Retry.Backoff, Duration(DefaultBackoff)),
		},
	}
}

// FailedSteps returns the ids of the plan's steps that failed for good, in the plan's order.
func (s *State) FailedSteps(plan *Plan) []StepID {
	var failed []StepID
	for _, step := range plan.Steps() {
		if st := s.Steps[step.ID]; st != nil && st.Status == FailedForGood {
			failed = append(failed, step.ID)
		}
	}
	return failed
}

// FailedFor returns the first step that makes the run fail; "" for none.
func (s *State) FailedFor(plan *Plan) StepID {
	for _, step := range plan.Steps() {
		if s.Steps[step.ID].FailsRun() {
			return step.ID
		}
	}
	return ""
}

// AfterFailure returns the command with which a person repairs a failed run.
func (s *State) AfterFailure(plan *Plan) string {
	if plan != nil {
		if first := s.FailedFor(plan); first != "" {
			return "pawl retry " + string(first)
		}
	}
	return "pawl status"
}
