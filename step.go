package pawl

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"
)

// StepStatus is the status of a step.
type StepStatus string

// The statuses of a step.
const (
	Pending       StepStatus = "pending"
	Running       StepStatus = "running"
	AwaitsGate    StepStatus = "waiting"   // for a gate
	AwaitsReview  StepStatus = "in_review" // done except for its reviews
	Done          StepStatus = "done"
	FailedForGood StepStatus = "failed"
	Skipped       StepStatus = "skipped"
)

// StepState is the state of a step.
type StepState struct {
	Status      StepStatus              `json:"status"`
	Retries     Retries                 `json:"try,omitzero"`    // of the step itself
	Items       *ItemsState             `json:"items,omitempty"` // of a foreach step
	Named       map[ItemID]ItemNamed    `json:"named,omitempty"` // items that the step reported
	Key         Key                     `json:"key,omitzero"`    // of the finished work
	Outputs     Outputs                 `json:"outputs,omitempty"`
	Digest      string                  `json:"digest,omitempty"` // of all items' outputs
	Accept      string                  `json:"accept,omitempty"` // hash of the checks that passed
	Summary     string                  `json:"summary,omitempty"`
	Undo        string                  `json:"undo,omitempty"`
	Adopted     string                  `json:"adopted,omitempty"`
	From        *Earlier                `json:"from,omitempty"`      // the attempt whose result was adopted
	Unsaved     string                  `json:"unsaved,omitempty"`   // why there is no snapshot of the workspace after the step
	Why         string                  `json:"why,omitempty"`       // why it failed, was skipped or reopened
	Condition   string                  `json:"condition,omitempty"` // that was false, so that pawl skipped it
	Continued   bool                    `json:"continued,omitempty"` // it failed, and the run continues (continue_on_error)
	Rejected    string                  `json:"rejected,omitempty"`  // the last rejection, for PAWL_RESUME
	Reviews     map[string]StepReviewed `json:"reviews,omitempty"`
	Minimum     map[string]int          `json:"minimum,omitempty"` // minimum scores; the step is not done below them
	Progress    *Progress               `json:"progress,omitempty"`
	Usage       Usage                   `json:"usage,omitzero"`
	Seconds     float64                 `json:"seconds,omitempty"`      // running time of all its attempts
	BaseAttempt int                     `json:"floor,omitempty"`        // attempts of items are numbered above it
	Attempts    int                     `json:"attempts,omitempty"`     // of the step and of all its items
	Lost        float64                 `json:"lost_seconds,omitempty"` // running time of attempts without a result
	CutShort    int                     `json:"cut_short,omitempty"`    // attempts, of the step or its items, that were interrupted
	Started     time.Time               `json:"started,omitzero"`
	Ended       time.Time               `json:"ended,omitzero"`
	Done        Seq                     `json:"done,omitempty"`    // the step.done event
	Given       Seq                     `json:"given,omitempty"`   // the last event whose outputs the step may have read: of a done step the start of its attempt, else its end
	Killed      int                     `json:"killed,omitempty"`  // processes that its attempts left running, and that pawl ended
	Leftovers   []string                `json:"left,omitempty"`    // of the newest attempt with any: the first ones, as "name (PID)"
	Changed     []string                `json:"changed,omitempty"` // outputs that were changed from outside since
}

// step returns the state of a step. It creates a missing one, which stays the step's for good.
func (s *State) step(id StepID) *StepState {
	st := s.Steps[id]
	if st == nil {
		st = &StepState{Status: Pending}
		if s.Steps == nil { // decoded from a state without steps
			s.Steps = map[StepID]*StepState{}
		}
		s.Steps[id] = st
	}
	return st
}

// concluded reports whether the step's work is done, reviewed or not. Only StepReopened makes it run again.
func (st *StepState) concluded() bool {
	return st != nil && (st.Status == Done || st.Status == AwaitsReview)
}

// Finished reports whether later steps can start: the step is done or skipped, or it failed with continue_on_error.
func (st *StepState) Finished() bool {
	return st != nil && (st.Status == Done || st.Status == Skipped || st.Tolerated())
}

// Tolerated reports whether a step failed and the run continues (continue_on_error).
func (st *StepState) Tolerated() bool { return st != nil && st.Status == FailedForGood && st.Continued }

// StatusText returns the status as people read it: a failure that the plan allows needs nobody.
func (st *StepState) StatusText() string {
	if st.Tolerated() {
		return FailedAllowed
	}
	return string(st.Status)
}

// FailedAllowed is the status, for people, of a step that failed and has continue_on_error.
const FailedAllowed = "failed, allowed"

// FailsRun reports whether a step failed for good, so that the run fails.
func (st *StepState) FailsRun() bool { return st != nil && st.Status == FailedForGood && !st.Continued }

// Live returns the step's live attempts, its own or its items', by index.
func (st *StepState) Live() []*AttemptState {
	if st == nil {
		return nil
	}
	var live []*AttemptState
	if st.Retries.Live != nil {
		live = append(live, st.Retries.Live)
	}
	if st.Items != nil {
		for _, index := range slices.Sorted(maps.Keys(st.Items.Retries)) {
			if t := st.Items.Retries[index]; t.Live != nil {
				live = append(live, t.Live)
			}
		}
	}
	return live
}

// Unreviewed returns the reviewers whose score is missing or below their minimum, sorted.
func (st *StepState) Unreviewed() []string {
	var names []string
	for name, minimum := range st.Minimum {
		if r, ok := st.Reviews[name]; !ok || r.Score < minimum {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Gives returns the hash that dependent steps see of a finished step: of its recorded outputs, or of its key where it declares none.
func (st *StepState) Gives() string {
	switch {
	case st == nil || st.Status == Skipped || st.Status == FailedForGood:
		return ""
	case st.Digest != "":
		return st.Digest
	case len(st.Outputs) > 0:
		return st.Outputs.Hash()
	}
	return st.Key.Hash()
}

// StepDone finishes a step. Its outputs and its result are on disk, as recorded here.
type StepDone struct {
	Step    StepID          `json:"step"`
	Attempt int             `json:"attempt,omitempty"` // 0: a foreach step, whose items have the attempts
	Token   Token           `json:"token,omitempty"`
	Key     Key             `json:"key"`
	Outputs Outputs         `json:"outputs,omitempty"`
	Digest  string          `json:"digest,omitempty"` // of all items' outputs, for a foreach step
	Accept  string          `json:"accept,omitempty"` // hash of the acceptance checks that passed
	Summary string          `json:"summary,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"` // durable steps: what the function returned
	Blob    string          `json:"blob,omitempty"`   // instead of Result: SHA-256 of the file that holds it
	Usage   Usage           `json:"usage,omitzero"`
	Undo    string          `json:"undo,omitempty"`    // the compensating command, for a rollback
	Adopted string          `json:"adopted,omitempty"` // why the result was accepted, where no engine saw it end
	Started time.Time       `json:"started,omitzero"`  // only where there is no attempt.started
	Review  map[string]int  `json:"review,omitempty"`  // minimum scores; the step is not done below them
	Stats   *AttemptStats   `json:"stats,omitempty"`
	Verdict *Verdict        `json:"verdict,omitempty"`    // where no engine saw it end: why the result was accepted
	From    *Earlier        `json:"from,omitempty"`       // the result was adopted from this attempt
	Save    *Checkpoint     `json:"checkpoint,omitempty"` // with the snapshot of the files, or the reason that there is none
}

func (StepDone) Event() EventType { return "step.done" }

func (p StepDone) fold(s *State, e Event) error {
	if s.Steps[p.Step].concluded() {
		return fmt.Errorf("step %s is already done", p.Step)
	}
	if p.Token != "" {
		if _, _, err := s.live(AttemptRef{Step: p.Step, Attempt: p.Attempt, Token: p.Token}); err != nil {
			return err
		}
	}
	st := s.step(p.Step)
	if p.Token == "" && !p.Started.IsZero() {
		st.Started = p.Started
		st.Attempts++
	}
	st.Given = e.Seq
	if p.Token != "" {
		st.Given = st.Retries.Live.Seq
	}
	s.settleGates(p.Step)
	st.Retries.Live, st.Retries.Last, st.Retries.Failures, st.Retries.LostInARow = nil, nil, 0, 0
	st.Status, st.Ended, st.Done = Done, e.Time, e.Seq
	st.Key, st.Outputs, st.Digest, st.Accept = p.Key, p.Outputs, p.Digest, p.Accept
	st.Summary, st.Undo, st.Adopted, st.From = p.Summary, p.Undo, p.Adopted, p.From
	st.Why, st.Rejected, st.Changed, st.Progress = "", "", nil, nil
	st.Condition, st.Continued = "", false
	st.Minimum = p.Review
	if len(p.Review) > 0 {
		st.Status, st.Reviews = AwaitsReview, nil
	}
	s.spend(st, p.Stats, p.Usage)
	st.Unsaved = ""
	if p.Save != nil {
		s.addCheckpoint(e, *p.Save)
		st.Unsaved = p.Save.Unsaved()
	}
	return nil
}

// StepFailed fails a step for good: no retries are left, or no retry would help.
type StepFailed struct {
	Step      StepID `json:"step"`
	Why       string `json:"why"`
	Continued bool   `json:"continued,omitempty"` // the run continues (continue_on_error)
}

func (StepFailed) Event() EventType { return "step.failed" }

func (p StepFailed) fold(s *State, e Event) error {
	err := s.endStep(e, p.Step, FailedForGood, p.Why)
	if err == nil {
		s.step(p.Step).Continued = p.Continued
	}
	return err
}

// StepSkipped records that a person skipped the step, or that its condition is false.
type StepSkipped struct {
	Step      StepID `json:"step"`
	Why       string `json:"why,omitempty"`
	Condition string `json:"condition,omitempty"` // that is false; empty: a person skipped the step
}

func (StepSkipped) Event() EventType { return "step.skipped" }

func (p StepSkipped) fold(s *State, e Event) error {
	err := s.endStep(e, p.Step, Skipped, p.Why)
	if err == nil {
		s.step(p.Step).Condition = p.Condition
	}
	return err
}

// endStep ends a step that is not done.
func (s *State) endStep(e Event, id StepID, status StepStatus, why string) error {
	if st := s.Steps[id]; st != nil && st.Status == Done {
		return fmt.Errorf("step %s is already done", id)
	}
	st := s.step(id)
	st.Status, st.Why, st.Ended, st.Given = status, why, e.Time, e.Seq
	st.Condition, st.Continued = "", false
	s.settleGates(id)
	return nil
}

// StepReopened makes a step pending again. Its next attempt gets the reason.
type StepReopened struct {
	Step  StepID `json:"step"`
	Why   string `json:"why"`
	Asked bool   `json:"asked,omitempty"` // by a person; pawl then opens no gate before the rerun
	Keep  bool   `json:"keep,omitempty"`  // finished items stay finished
	Items []int  `json:"items,omitempty"` // only these items run again, by index; empty: the whole step
}

func (StepReopened) Event() EventType { return "step.reopened" }

func (p StepReopened) fold(s *State, _ Event) error {
	live := s.Steps[p.Step].Live()
	if slices.ContainsFunc(live, func(a *AttemptState) bool {
		return len(p.Items) == 0 || a.Item == "" || slices.Contains(p.Items, a.Index)
	}) {
		return fmt.Errorf("step %s is running", p.Step)
	}
	st := s.step(p.Step)
	s.settleGates(p.Step)
	st.Status, st.Why, st.Rejected, st.From = Pending, p.Why, p.Why, nil
	st.Condition, st.Continued = "", false
	if len(live) > 0 { // other items
		st.Status = Running
	}
	st.Retries.Failures, st.Retries.LostInARow, st.Ended, st.Reviews = 0, 0, time.Time{}, nil
	st.Retries.Again = p.Asked
	if st.Items == nil {
		return nil
	}
	switch {
	case p.Keep:
		st.Items.reopenUnfinished()
	case len(p.Items) == 0:
		st.BaseAttempt = max(st.BaseAttempt, st.Items.Highest)
		st.Items = nil
	default:
		st.Items.reopen(p.Items)
	}
	return nil
}

// StepChecked records that a finished step passed its changed acceptance checks and need not run again.
type StepChecked struct {
	Step   StepID `json:"step"`
	Accept string `json:"accept"`
}

func (StepChecked) Event() EventType { return "step.checked" }

func (p StepChecked) fold(s *State, _ Event) error {
	s.step(p.Step).Accept = p.Accept
	return nil
}

// StepReviewed is one reviewer's score of the step's newest attempt.
type StepReviewed struct {
	Step     StepID `json:"step"`
	Reviewer string `json:"reviewer"`
	Score    int    `json:"score"` // 0 to 100
	Comment  string `json:"comment,omitempty"`
}

func (StepReviewed) Event() EventType { return "step.reviewed" }

func (p StepReviewed) fold(s *State, _ Event) error {
	st := s.Steps[p.Step]
	if st == nil || st.Status != AwaitsReview && st.Status != Done {
		return fmt.Errorf("step %s has nothing to review", p.Step)
	}
	if st.Reviews == nil {
		st.Reviews = map[string]StepReviewed{}
	}
	st.Reviews[p.Reviewer] = p
	if st.Status == AwaitsReview && len(st.Unreviewed()) == 0 {
		st.Status = Done
	}
	return nil
}

// OutputsChanged records that a finished step's outputs were changed from outside. It causes no rerun.
type OutputsChanged struct {
	Step  StepID   `json:"step"`
	Paths []string `json:"paths"`
}

func (OutputsChanged) Event() EventType { return "outputs.changed" }

func (p OutputsChanged) fold(s *State, _ Event) error {
	s.step(p.Step).Changed = p.Paths
	return nil
}
