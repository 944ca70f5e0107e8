package pawl

import (
	"encoding/json"
	"time"
)

// StepListed adds values to a step's work list. Long lists come as several events of one batch.
type StepListed struct {
	Step  StepID   `json:"step"`
	Key   Key      `json:"key"`  // what all items share: their own keys add the value and inputs that name it
	From  int      `json:"from"` // index of the first value
	Items []string `json:"items"`
}

// ItemNamed is an item that the step itself named while it worked.
type ItemNamed struct {
	Step    StepID     `json:"step"`
	Item    ItemID     `json:"item"`
	Title   string     `json:"title,omitempty"`
	Status  ItemStatus `json:"status"`
	Outputs []string   `json:"outputs,omitempty"`
	Commit  string     `json:"commit,omitempty"`
	Source  *Source    `json:"source,omitempty"`
}

// StepDone says that a step is finished: its outputs and its result are on disk, as named here.
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
	Adopted string          `json:"adopted,omitempty"` // why it was believed, where no engine saw it end
	Started time.Time       `json:"started,omitzero"`  // only where no attempt.started stands before it
	Review  map[string]int  `json:"review,omitempty"`  // minimum scores without which it is not done yet
	Stats   *AttemptStats   `json:"stats,omitempty"`
	Verdict *Verdict        `json:"verdict,omitempty"`    // where no engine saw it end: why it is believed
	Save    *Checkpoint     `json:"checkpoint,omitempty"` // with the snapshot of the files, or why there is none
}

// StepFailed says that a step has failed for good: no tries are left, or none would help.
type StepFailed struct {
	Step StepID `json:"step"`
	Why  string `json:"why"`
}

// StepReopened makes a step pending again, with the reason that its next attempt is told.
type StepReopened struct {
	Step  StepID `json:"step"`
	Why   string `json:"why"`
	Asked bool   `json:"asked,omitempty"` // by a person, who need not be asked whether it may be repeated
	Keep  bool   `json:"keep,omitempty"`  // finished items stay finished
	Items []int  `json:"items,omitempty"` // only these items run again, by index; none: all of the step
}

// StepSkipped says that a person decided to go on without the step.
type StepSkipped struct {
	Step StepID `json:"step"`
	Why  string `json:"why,omitempty"`
}

// StepChecked says that a finished step passed its changed acceptance checks, so it need not run again.
type StepChecked struct {
	Step   StepID `json:"step"`
	Accept string `json:"accept"`
}

// StepReviewed is one reviewer's score of the step's newest attempt.
type StepReviewed struct {
	Step     StepID `json:"step"`
	Reviewer string `json:"reviewer"`
	Score    int    `json:"score"` // 0 to 100
	Comment  string `json:"comment,omitempty"`
}

// OutputsChanged reports that a finished step's outputs were changed from outside. It re-runs nothing.
type OutputsChanged struct {
	Step  StepID   `json:"step"`
	Paths []string `json:"paths"`
}

// AttemptRef names one try of a step or of an item.
type AttemptRef struct {
	Step    StepID `json:"step"`
	Item    ItemID `json:"item,omitempty"`
	Index   int    `json:"index,omitempty"` // of the item in the step's work list
	Attempt int    `json:"attempt"`         // from 1
	Token   Token  `json:"token"`
}

// AttemptStarted is an intent: durable before anything is started.
type AttemptStarted struct {
	AttemptRef
	Key Key `json:"key"`
}

// AttemptEnded ends a try that did not finish its work.
type AttemptEnded struct {
	AttemptRef
	Outcome  Outcome       `json:"outcome"`
	Final    bool          `json:"final,omitempty"` // it is not tried again by itself
	Reason   EndReason     `json:"reason,omitempty"`
	Exit     *int          `json:"exit,omitempty"`
	Why      string        `json:"why,omitempty"` // one line for people
	Summary  string        `json:"summary,omitempty"`
	Blockers []string      `json:"blockers,omitempty"`
	Unmet    []string      `json:"unmet,omitempty"` // names of the acceptance checks that failed
	Gate     GateID        `json:"gate,omitempty"`
	RetryAt  time.Time     `json:"retry_at,omitzero"`
	Usage    Usage         `json:"usage,omitzero"`
	Stats    *AttemptStats `json:"stats,omitempty"`
	Verdict  *Verdict      `json:"verdict,omitempty"` // where it failed or was lost: what is to be done, and by which rule
}

// CutShort reports whether the attempt did not end by itself: it was lost, ended by somebody, or by a limit.
func (e AttemptEnded) CutShort() bool {
	switch e.Outcome {
	case Aborted, Lost:
		return true
	}
	switch e.Reason {
	case ReasonTimeout, ReasonStalled, ReasonAbort, ReasonBudget:
		return true
	}
	return false
}

// ItemDone says that an item is finished: its outputs are on disk, as named here.
type ItemDone struct {
	AttemptRef
	Key     Key           `json:"key"`
	Outputs Outputs       `json:"outputs,omitempty"`
	Accept  string        `json:"accept,omitempty"`
	Summary string        `json:"summary,omitempty"`
	Usage   Usage         `json:"usage,omitzero"`
	Adopted string        `json:"adopted,omitempty"`
	Stats   *AttemptStats `json:"stats,omitempty"`
	Verdict *Verdict      `json:"verdict,omitempty"` // where no engine saw it end: why it is believed
}

// AttemptStats is what an attempt cost, from its exit record.
type AttemptStats struct {
	Seconds     float64 `json:"seconds"` // wall clock, without time asleep
	CPUSeconds  float64 `json:"cpu_seconds,omitempty"`
	OutputBytes int64   `json:"output_bytes,omitempty"`
}

// Outcome is how a try ended that did not finish its work.
type Outcome string

// The outcomes.
const (
	Failed     Outcome = "failed"      // it counts as a try
	Blocked    Outcome = "blocked"     // it says that it cannot go on
	WaitsFor   Outcome = "waiting"     // it opened a gate and stopped; costs no try
	Aborted    Outcome = "aborted"     // ended by a person or a shutdown; costs no try
	Lost       Outcome = "lost"        // its supervisor died; costs no try
	NotStarted Outcome = "not_started" // lost before it began; costs no try
)

// EndReason is why a supervisor ended an attempt, as its exit record says.
type EndReason string

// The reasons.
const (
	ReasonExited   EndReason = "exited"
	ReasonTimeout  EndReason = "watchdog_timeout"
	ReasonStalled  EndReason = "stalled"
	ReasonAbort    EndReason = "manual_abort"
	ReasonBudget   EndReason = "budget"
	ReasonError    EndReason = "error"
	ReasonOutdated EndReason = "outdated" // a newer attempt has taken over
)

// Progressed is a sign of life with meaning: a CLI verb, a line of the events file, or a marker in the output.
type Progressed struct {
	AttemptRef
	Text   string   `json:"text,omitempty"`
	Done   *float64 `json:"done,omitempty"` // of Total; per cent where Total is absent
	Total  *float64 `json:"total,omitempty"`
	Marker *Marker  `json:"marker,omitempty"`
	Usage  Usage    `json:"usage,omitzero"` // of the attempt so far
	Source *Source  `json:"source,omitempty"`
}

// Marker is a line such as [STAGE:begin:id=S01_load_data] in a step's output, in Gyoshu's grammar.
// Markers are hints, never evidence.
type Marker struct {
	Type       string            `json:"type"`
	Subtype    *string           `json:"subtype,omitempty"` // present but empty for [TYPE::…]
	Attributes map[string]string `json:"attributes"`
	Content    string            `json:"content"`
	Line       int               `json:"lineNumber"` // from 1
	Valid      bool              `json:"valid"`      // its type is one of the known ones
}

// Conversed says with which session of its agent an attempt works, so that a later attempt can go on with it.
type Conversed struct {
	AttemptRef
	Conversation
	Source *Source `json:"source,omitempty"`
}

// Source is where in an attempt's files an event was read, so that reading twice does no harm.
type Source struct {
	AttemptRef
	File   string `json:"file"`   // its name in the attempt's folder
	Offset int64  `json:"offset"` // of the byte behind the line
}

// Heartbeat is what the engine's watchdog saw of a live attempt, every five minutes by default.
type Heartbeat struct {
	AttemptRef
	Health      string  `json:"health"`
	CPUSeconds  float64 `json:"cpu_seconds"`
	OutputBytes int64   `json:"output_bytes"`
	Evidence    string  `json:"evidence,omitempty"`
}

// WatchdogActed says what the watchdog did, and why.
type WatchdogActed struct {
	AttemptRef
	Health   string `json:"health"`
	Action   string `json:"action"`
	Evidence string `json:"evidence"`
}

func (StepListed) Event() EventType     { return "step.listed" }
func (ItemNamed) Event() EventType      { return "item.named" }
func (StepDone) Event() EventType       { return "step.done" }
func (StepFailed) Event() EventType     { return "step.failed" }
func (StepReopened) Event() EventType   { return "step.reopened" }
func (StepSkipped) Event() EventType    { return "step.skipped" }
func (StepChecked) Event() EventType    { return "step.checked" }
func (StepReviewed) Event() EventType   { return "step.reviewed" }
func (OutputsChanged) Event() EventType { return "outputs.changed" }
func (AttemptStarted) Event() EventType { return "attempt.started" }
func (AttemptEnded) Event() EventType   { return "attempt.ended" }
func (ItemDone) Event() EventType       { return "item.done" }
func (Progressed) Event() EventType     { return "step.progress" }
func (Conversed) Event() EventType      { return "attempt.conversed" }
func (Heartbeat) Event() EventType      { return "attempt.heartbeat" }
func (WatchdogActed) Event() EventType  { return "watchdog.acted" }

// ItemStatus is where an item stands that a step named itself.
type ItemStatus string

// The statuses of a named item.
const (
	ItemPending ItemStatus = "pending"
	ItemRunning ItemStatus = "running"
	ItemIsDone  ItemStatus = "done"
	ItemFailed  ItemStatus = "failed"
	ItemDropped ItemStatus = "dropped" // it is no longer on the list
)
