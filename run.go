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

// RunStatus is the status of a run.
type RunStatus string

// The statuses of a run. Waiting and interrupted are derived by StatusNow, never recorded.
const (
	StatusActive      RunStatus = "active"
	StatusWaiting     RunStatus = "waiting" // for a person
	StatusPaused      RunStatus = "paused"
	StatusStopped     RunStatus = "stopped" // no new attempts, and running ones are terminated; shown as paused
	StatusInterrupted RunStatus = "interrupted"
	StatusCompleted   RunStatus = "completed"
	StatusFailed      RunStatus = "failed"
)

// Ended reports whether the run has completed or failed.
func (s *State) Ended() bool { return s.Status == StatusCompleted || s.Status == StatusFailed }

// Origin returns the run that artifact paths are named after: the run itself, or the first run of its chain of forks and updates.
func (s *State) Origin() RunID {
	switch {
	case s.Forked != nil && s.Forked.Origin != "":
		return s.Forked.Origin
	case s.Update != nil:
		return s.Update.Origin
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
	Request string  `json:"request,omitempty"` // names the request that started the run, so that its repetition starts no other one
	Shell   Shell   `json:"shell,omitempty"`   // default of the plan's steps; empty in journals of older versions, which used PlainSh
	Proof   string  `json:"proof,omitempty"`   // by which the user of a durable run recognizes it; see runs.Proof
}

func (RunCreated) Event() EventType { return "run.created" }

func (p RunCreated) fold(s *State, e Event) error {
	if s.Run != "" {
		return fmt.Errorf("run %s already exists", s.Run)
	}
	s.Format, s.Run, s.Project, s.Kind, s.Name = p.Format, p.Run, p.Project, p.Kind, p.Name
	s.Goal, s.Mode, s.Created, s.Forked, s.Shell = p.Goal, p.Mode, e.Time, p.Forked, p.Shell
	return nil
}

// Fork is the origin of a run that was forked from a checkpoint.
type Fork struct {
	Run        RunID        `json:"run"`
	Checkpoint CheckpointID `json:"checkpoint"`
	Seq        Seq          `json:"seq"`    // the last event of the other run that this run contains
	Origin     RunID        `json:"origin"` // the first run of the chain of forks; artifact paths use its name
}

// RunPlanned sets the run's plan revision, a file in the journal's folder.
type RunPlanned struct {
	Revision int    `json:"revision"` // from 1
	File     string `json:"file"`     // plan.yaml, plan.2.yaml, …
	SHA256   string `json:"sha256"`
	Source   string `json:"source,omitempty"` // the user's file, relative to the project where it is inside
	Steps    int    `json:"steps"`
	Goal     string `json:"goal,omitempty"`
	Mode     Mode   `json:"mode,omitempty"`
}

func (RunPlanned) Event() EventType { return "run.planned" }

func (p RunPlanned) fold(s *State, _ Event) error {
	s.Plan, s.Goal, s.Mode = p, cmp.Or(p.Goal, s.Goal), cmp.Or(p.Mode, s.Mode)
	return nil
}

// RunPaused stops new attempts from starting; running attempts finish.
type RunPaused struct {
	Why string `json:"why,omitempty"`
}

func (RunPaused) Event() EventType { return "run.paused" }

func (p RunPaused) fold(s *State, _ Event) error { return s.setStatus(StatusPaused, p.Why) }

// RunContinued reverts RunPaused or RunStopped.
type RunContinued struct{}

func (RunContinued) Event() EventType { return "run.continued" }

func (RunContinued) fold(s *State, _ Event) error { return s.setStatus(StatusActive, "") }

// RunStopped stops new attempts from starting and terminates running ones.
type RunStopped struct {
	Why string `json:"why,omitempty"`
}

func (RunStopped) Event() EventType { return "run.stopped" }

func (p RunStopped) fold(s *State, _ Event) error { return s.setStatus(StatusStopped, p.Why) }

// setStatus changes the status of a run that has not ended.
func (s *State) setStatus(status RunStatus, why string) error {
	if s.Ended() {
		return fmt.Errorf("run has already %s", s.Status)
	}
	s.Status, s.Why = status, why
	return nil
}

// RunEnded completes or fails the run.
type RunEnded struct {
	Status  RunStatus `json:"status"`
	Why     string    `json:"why,omitempty"`
	Handler StepID    `json:"handler,omitempty"` // the handler that ran before; it runs again if the run is reopened
}

func (RunEnded) Event() EventType { return "run.ended" }

func (p RunEnded) fold(s *State, _ Event) error {
	if p.Status != StatusCompleted && p.Status != StatusFailed {
		return fmt.Errorf("a run cannot end with status %q", p.Status)
	}
	s.Status, s.Why, s.Handler = p.Status, p.Why, p.Handler
	s.Ends++
	return nil
}

// RunReopened makes an ended run active again, such as after a plan edit or a retry.
type RunReopened struct {
	Why string `json:"why,omitempty"`
}

func (RunReopened) Event() EventType { return "run.reopened" }

func (p RunReopened) fold(s *State, e Event) error {
	s.Status, s.Why = StatusActive, p.Why
	id := s.Handler
	if s.Handler = ""; id != "" && s.Steps[id] != nil && s.Steps[id].Status != Pending {
		return StepReopened{Step: id}.fold(s, e)
	}
	return nil
}

// RunExamined records the findings of the check before a resume.
type RunExamined struct {
	Findings []Finding `json:"findings"`
}

func (RunExamined) Event() EventType { return "run.examined" }

// fold changes nothing: the findings are for readers of the journal.
func (RunExamined) fold(*State, Event) error { return nil }

// RunRecovered records that the journal was damaged or lost after event Kept, and that a person accepted the rebuilt events
// that follow this one. A long list of parts is split into several events of one batch.
type RunRecovered struct {
	Why      []string        `json:"why"`                // what was wrong with the journal
	Kept     Seq             `json:"kept"`               // 0: nothing of it
	Accepted string          `json:"accepted,omitempty"` // by whom
	Parts    []RecoveredPart `json:"parts"`
}

func (RunRecovered) Event() EventType { return "run.recovered" }

// fold changes nothing: the rebuilt events follow in the journal and have their own effect.
func (RunRecovered) fold(*State, Event) error { return nil }

// RecoveredPart is one part of a rebuilt journal, with its evidence.
type RecoveredPart struct {
	What       string   `json:"what"`
	Step       StepID   `json:"step,omitempty"`
	Item       ItemID   `json:"item,omitempty"`
	Status     string   `json:"status"`
	Confidence string   `json:"confidence"` // certain | likely | guess
	Evidence   []string `json:"evidence,omitempty"`
}
