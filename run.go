package pawl

import (
	"cmp"
	"fmt"
)

// RunKind says where a run came from.
type RunKind string

// The kinds of runs.
const (
	PlanRun    RunKind = "plan"    // pawl run PLAN
	CommandRun RunKind = "command" // pawl run -- COMMAND…
	DurableRun RunKind = "durable" // a Go program, through package durable
	SessionRun RunKind = "session" // an attached agent's mission, without a plan
)

// RunStatus is where a run stands as a whole.
type RunStatus string

// The statuses of a run. Waiting and interrupted are derived by StatusNow, never recorded.
const (
	StatusActive      RunStatus = "active"
	StatusWaiting     RunStatus = "waiting" // for a person
	StatusPaused      RunStatus = "paused"
	StatusStopped     RunStatus = "stopped" // nothing new, and running attempts are ended; shown as paused
	StatusInterrupted RunStatus = "interrupted"
	StatusCompleted   RunStatus = "completed"
	StatusFailed      RunStatus = "failed"
)

// Ended reports whether the run has completed or failed.
func (s *State) Ended() bool { return s.Status == StatusCompleted || s.Status == StatusFailed }

// Origin returns the run whose name the paths of artifacts bear: the run itself, or the one where its line of forks began.
func (s *State) Origin() RunID {
	if s.Forked != nil && s.Forked.Origin != "" {
		return s.Forked.Origin
	}
	return s.Run
}

// RunCreated is the first event of every journal.
type RunCreated struct {
	Format  int     `json:"format"`
	Run     RunID   `json:"run"`
	Project string  `json:"project"` // the project's UUID
	Kind    RunKind `json:"kind"`
	Name    string  `json:"name"`
	Goal    string  `json:"goal,omitempty"` // without a plan
	Mode    Mode    `json:"mode,omitempty"` // without a plan
	Pawl    string  `json:"pawl"`           // version of the program that made the run
	Forked  *Fork   `json:"forked,omitempty"`
}

func (RunCreated) Event() EventType { return "run.created" }

func (p RunCreated) fold(s *State, e Event) error {
	if s.Run != "" {
		return fmt.Errorf("run %s was created already", s.Run)
	}
	s.Format, s.Run, s.Project, s.Kind, s.Name = p.Format, p.Run, p.Project, p.Kind, p.Name
	s.Goal, s.Mode, s.Created, s.Forked = p.Goal, p.Mode, e.Time, p.Forked
	return nil
}

// Fork is where a run comes from that was made of another one's checkpoint.
type Fork struct {
	Run        RunID        `json:"run"`
	Checkpoint CheckpointID `json:"checkpoint"`
	Seq        Seq          `json:"seq"`    // up to which event of the other run this one has it
	Origin     RunID        `json:"origin"` // where a line of forks began: the paths of artifacts bear its name
}

// RunPlanned names the plan revision that the run follows from here on: a file beside the journal.
type RunPlanned struct {
	Revision int    `json:"revision"` // from 1
	File     string `json:"file"`     // plan.yaml, plan.2.yaml, …
	SHA256   string `json:"sha256"`
	Source   string `json:"source,omitempty"` // where the user keeps it, relative to the project where it lies inside
	Steps    int    `json:"steps"`
	Goal     string `json:"goal,omitempty"`
	Mode     Mode   `json:"mode,omitempty"`
}

func (RunPlanned) Event() EventType { return "run.planned" }

func (p RunPlanned) fold(s *State, _ Event) error {
	s.Plan, s.Goal, s.Mode = p, cmp.Or(p.Goal, s.Goal), cmp.Or(p.Mode, s.Mode)
	return nil
}

// RunPaused says that nothing new is to be started.
type RunPaused struct {
	Why string `json:"why,omitempty"`
}

func (RunPaused) Event() EventType { return "run.paused" }

func (p RunPaused) fold(s *State, _ Event) error { return s.setStatus(StatusPaused, p.Why) }

// RunContinued takes RunPaused or RunStopped back.
type RunContinued struct{}

func (RunContinued) Event() EventType { return "run.continued" }

func (RunContinued) fold(s *State, _ Event) error { return s.setStatus(StatusActive, "") }

// RunStopped says that nothing new is to be started and that running attempts are to be ended.
type RunStopped struct {
	Why string `json:"why,omitempty"`
}

func (RunStopped) Event() EventType { return "run.stopped" }

func (p RunStopped) fold(s *State, _ Event) error { return s.setStatus(StatusStopped, p.Why) }

// setStatus changes the status of a run that has not ended.
func (s *State) setStatus(status RunStatus, why string) error {
	if s.Ended() {
		return fmt.Errorf("run has %s already", s.Status)
	}
	s.Status, s.Why = status, why
	return nil
}

// RunEnded is the run's last word: completed or failed.
type RunEnded struct {
	Status RunStatus `json:"status"`
	Why    string    `json:"why,omitempty"`
}

func (RunEnded) Event() EventType { return "run.ended" }

func (p RunEnded) fold(s *State, _ Event) error {
	if p.Status != StatusCompleted && p.Status != StatusFailed {
		return fmt.Errorf("run cannot end %q", p.Status)
	}
	s.Status, s.Why = p.Status, p.Why
	return nil
}

// RunReopened makes an ended run active again: a plan was edited, a step retried.
type RunReopened struct {
	Why string `json:"why,omitempty"`
}

func (RunReopened) Event() EventType { return "run.reopened" }

func (p RunReopened) fold(s *State, _ Event) error {
	s.Status, s.Why = StatusActive, p.Why
	return nil
}

// RunExamined says what was found before the run was resumed.
type RunExamined struct {
	Findings []Finding `json:"findings"`
}

func (RunExamined) Event() EventType { return "run.examined" }

// fold changes nothing: the findings are for readers of the journal.
func (RunExamined) fold(*State, Event) error { return nil }

// RunRecovered says that the journal was damaged or lost behind event Kept, and that a person has accepted what stands
// behind this event in its place. Long lists of parts come as several events of one batch.
type RunRecovered struct {
	Why      []string        `json:"why"`                // what was wrong with the journal
	Kept     Seq             `json:"kept"`               // 0: nothing of it
	Accepted string          `json:"accepted,omitempty"` // by whom
	Parts    []RecoveredPart `json:"parts"`
}

func (RunRecovered) Event() EventType { return "run.recovered" }

// fold changes nothing: the rebuilt events follow in the journal and have their own effect.
func (RunRecovered) fold(*State, Event) error { return nil }

// RecoveredPart is one thing that was rebuilt, or was not, and on which evidence.
type RecoveredPart struct {
	What       string   `json:"what"`
	Step       StepID   `json:"step,omitempty"`
	Item       ItemID   `json:"item,omitempty"`
	Status     string   `json:"status"`
	Confidence string   `json:"confidence"` // certain | likely | guess
	Evidence   []string `json:"evidence,omitempty"`
}
