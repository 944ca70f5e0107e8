package pawl

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// AttemptRef identifies one attempt at a step or an item.
type AttemptRef struct {
	Step    StepID `json:"step"`
	Item    ItemID `json:"item,omitempty"`
	Index   int    `json:"index,omitempty"` // of the item in the foreach list
	Attempt int    `json:"attempt"`         // from 1
	Token   Token  `json:"token"`
}

// Name returns "step" or "step/item".
func (r AttemptRef) Name() string {
	if r.Item == "" {
		return string(r.Step)
	}
	return string(r.Step) + "/" + string(r.Item)
}

// Retries is the history of attempts at one unfinished step or item.
type Retries struct {
	Attempt    int           `json:"attempt,omitempty"`  // number of the newest
	Failures   int           `json:"failures,omitempty"` // failed attempts since it was last reopened
	LostInARow int           `json:"losses,omitempty"`   // attempts lost in a row
	Again      bool          `json:"again,omitempty"`    // a person asked for another attempt, regardless of the last verdict
	Live       *AttemptState `json:"live,omitempty"`     // started and not ended
	Last       *AttemptEnded `json:"last,omitempty"`

	Conversation *Conversation `json:"conversation,omitempty"` // of the newest attempt that had one
}

// AttemptState is a live attempt: started and not ended. It is running, or its outcome is unknown.
type AttemptState struct {
	AttemptRef
	Key      Key              `json:"key"`
	Seal     string           `json:"seal,omitempty"`  // public key of its supervisor
	Home     string           `json:"home,omitempty"`  // ID of the project whose engine started or rejoined it
	Boot     string           `json:"boot,omitempty"`  // boot ID of the system on which it was started
	Input    string           `json:"input,omitempty"` // see AttemptStarted
	Started  time.Time        `json:"started"`
	Seq      Seq              `json:"seq"`
	Beat     time.Time        `json:"beat,omitzero"`
	Health   string           `json:"health,omitempty"`    // as the watchdog saw it at that time
	Ready    time.Time        `json:"ready,omitzero"`      // of a service: since when
	WasReady bool             `json:"was_ready,omitempty"` // of a service: it was, under an earlier engine
	Waiting  *ServiceWait     `json:"waiting,omitempty"`   // of a service that is not ready
	Released string           `json:"released,omitempty"`  // of a service: why pawl ends it
	Progress *Progress        `json:"progress,omitempty"`
	Warnings []string         `json:"warnings,omitempty"` // about the cell that runs
	Usage    Usage            `json:"usage,omitzero"`     // so far, as last reported
	Read     map[string]int64 `json:"read,omitempty"`     // source file → offset up to which it is journaled
}

// Progress is the last progress that an attempt reported.
type Progress struct {
	Text   string    `json:"text,omitempty"`
	Done   *float64  `json:"done,omitempty"`
	Total  *float64  `json:"total,omitempty"`
	Time   time.Time `json:"time,omitzero"`
	Usage  Usage     `json:"usage,omitzero"`   // of the attempt so far
	Cell   string    `json:"cell,omitempty"`   // of a kernel step, that begins
	Note   bool      `json:"note,omitempty"`   // the program of a step reports what it does itself: the step's work did not progress
	Saving bool      `json:"saving,omitempty"` // the cell of a kernel step has ended, and its variables are being saved
}

// Conversation identifies an agent's session, so that a later attempt can resume it.
type Conversation struct {
	Agent AgentName `json:"agent"`
	ID    string    `json:"id"`             // the agent's own id or name
	Usage Usage     `json:"usage,omitzero"` // of the whole session, as the agent counts; some agents count from its start

	Definition string `json:"definition,omitempty"` // of the step; set by the fold
}

// Conversation returns the agent session of the newest attempt at a step or item, nil where there is none.
func (s *State) Conversation(ref AttemptRef) *Conversation {
	if t := s.Steps[ref.Step].retries(ref); t != nil {
		return t.Conversation
	}
	return nil
}

// Live returns all live attempts of the run, by step and item.
func (s *State) Live() []*AttemptState {
	var live []*AttemptState
	for _, st := range s.Steps {
		live = append(live, st.Live()...)
	}
	slices.SortFunc(live, func(a, b *AttemptState) int {
		return cmp.Or(strings.Compare(string(a.Step), string(b.Step)), cmp.Compare(a.Index, b.Index))
	})
	return live
}

// live returns the history whose live attempt this is, or the reason that it is not live. Only the token of the newest attempt
// makes a result valid.
func (s *State) live(ref AttemptRef) (*StepState, *Retries, error) {
	st := s.Steps[ref.Step]
	if st == nil {
		return nil, nil, fmt.Errorf("step %s was never started", ref.Step)
	}
	t := st.retries(ref)
	if t == nil || t.Live == nil || t.Live.Token != ref.Token {
		return nil, nil, fmt.Errorf("attempt %d of %s is not live", ref.Attempt, ref.Name())
	}
	return st, t, nil
}

// retries returns the history that an attempt belongs to, nil where there is none.
func (st *StepState) retries(ref AttemptRef) *Retries {
	switch {
	case st == nil:
		return nil
	case ref.Item == "":
		return &st.Retries
	case st.Items == nil:
		return nil
	}
	return st.Items.Retries[ref.Index]
}

// mayStart returns the reason that an attempt cannot be the step's next one, nil where it can.
func (st *StepState) mayStart(ref AttemptRef) error {
	newest := 0
	if t := st.retries(ref); t != nil {
		newest = t.Attempt
	}
	switch {
	case st.concluded():
		return fmt.Errorf("step %s is already done", ref.Step)
	case st.Finished():
		return fmt.Errorf("step %s is %s", ref.Step, st.Status)
	case ref.Item != "" && (st == nil || !st.Items.unfinished(ref.Index)):
		return fmt.Errorf("%s is finished or not listed", ref.Name())
	case ref.Attempt <= newest:
		return fmt.Errorf("attempt %d of %s follows attempt %d", ref.Attempt, ref.Name(), newest)
	}
	return nil
}

// AttemptStarted is an intent: it is durable before the supervisor starts.
type AttemptStarted struct {
	AttemptRef
	Key   Key    `json:"key"`
	Seal  string `json:"seal,omitempty"`  // public key that the supervisor's exit record is signed with; empty: an older pawl started it
	Input string `json:"input,omitempty"` // record of the snapshot that a worker gets; empty: it runs on this machine
}

func (AttemptStarted) Event() EventType { return "attempt.started" }

func (p AttemptStarted) fold(s *State, e Event) error {
	if err := s.Steps[p.Step].mayStart(p.AttemptRef); err != nil {
		return err
	}
	st := s.step(p.Step)
	t := st.retries(p.AttemptRef)
	if t == nil {
		t = &Retries{}
		if st.Items.Retries == nil {
			st.Items.Retries = map[int]*Retries{}
		}
		st.Items.Retries[p.Index] = t
	}
	if p.Item == "" {
		s.settleGates(p.Step)
	} else {
		s.settleItemGates(p.Step, p.Item)
	}
	t.Attempt, t.Again = p.Attempt, false
	if p.Item != "" {
		st.Items.Highest = max(st.Items.Highest, p.Attempt)
	}
	t.Live = &AttemptState{AttemptRef: p.AttemptRef, Key: p.Key, Seal: p.Seal, Home: s.LastHome, Boot: s.LastBoot, Input: p.Input, Started: e.Time, Seq: e.Seq}
	for _, o := range s.Operations {
		o.Overlaps = true
	}
	st.Attempts++
	st.Status = Running
	st.Reviews = nil
	if st.Started.IsZero() {
		st.Started = e.Time
	}
	return nil
}

// AttemptRejoined gives a live attempt a new supervisor: the step runs on a worker, and has outlived the last one.
type AttemptRejoined struct {
	AttemptRef
	Seal string `json:"seal"` // as in AttemptStarted
}

func (AttemptRejoined) Event() EventType { return "attempt.rejoined" }

func (p AttemptRejoined) fold(s *State, _ Event) error {
	_, t, err := s.live(p.AttemptRef)
	if err == nil {
		t.Live.Seal, t.Live.Home = p.Seal, s.LastHome
	}
	return err
}

// AttemptEnded ends an attempt that did not finish its work.
type AttemptEnded struct {
	AttemptRef
	Outcome  Outcome       `json:"outcome"`
	Final    bool          `json:"final,omitempty"` // there is no automatic retry
	Reason   EndReason     `json:"reason,omitempty"`
	Exit     *int          `json:"exit,omitempty"`
	Why      string        `json:"why,omitempty"`   // one line of text
	Value    string        `json:"value,omitempty"` // of an item whose id is not its value: the start of the value
	Summary  string        `json:"summary,omitempty"`
	Blockers []string      `json:"blockers,omitempty"`
	Unmet    []string      `json:"unmet,omitempty"` // names of the acceptance checks that failed
	Gate     GateID        `json:"gate,omitempty"`
	RetryAt  time.Time     `json:"retry_at,omitzero"`
	Usage    Usage         `json:"usage,omitzero"`
	Stats    *AttemptStats `json:"stats,omitempty"`
	Verdict  *Verdict      `json:"verdict,omitempty"` // where it failed or crashed: what to do, and by which rule
}

// Title names the work for people: the step, or the step and the value of the item.
func (p AttemptEnded) Title() string {
	if p.Value == "" {
		return p.Name()
	}
	return string(p.Step) + "/" + strings.Join(strings.Fields(p.Value), " ")
}

func (AttemptEnded) Event() EventType { return "attempt.ended" }

func (p AttemptEnded) fold(s *State, _ Event) error {
	st, t, err := s.live(p.AttemptRef)
	if err != nil {
		return err
	}
	t.ended(p)
	if p.CutShort() {
		st.CutShort++
	}
	if p.Stats != nil && p.Outcome != WaitsFor {
		st.Lost = finite(st.Lost + p.Stats.Seconds)
	}
	s.spend(st, p.Stats, p.Usage)
	if p.Item != "" {
		if p.Final {
			st.Items.fail(p)
		}
		return nil
	}
	if st.Status == Running { // not skipped meanwhile
		st.Status = Pending
	}
	if g := s.Gate(p.Gate); st.Status == Pending && p.Outcome == WaitsFor && g != nil && g.Open() {
		st.Status = AwaitsGate
	}
	return nil
}

// ItemName returns the item's value, cut to its start, or its id.
func (e AttemptEnded) ItemName() string { return cmp.Or(e.Value, string(e.Item)) }

// CutShort reports whether the attempt was interrupted: it crashed, or a person or a limit ended it.
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

// ended records how the live attempt ended.
func (t *Retries) ended(p AttemptEnded) {
	t.Live, t.Last = nil, &p
	switch p.Outcome {
	case Failed:
		t.Failures++
		t.LostInARow = 0
	case Lost, NotStarted:
		t.LostInARow++
	default:
		t.LostInARow = 0
	}
}

// Outcome is how an attempt ended that did not finish its work.
type Outcome string

// The outcomes.
const (
	Failed     Outcome = "failed"      // it uses up a retry
	Blocked    Outcome = "blocked"     // it reported that it cannot continue
	WaitsFor   Outcome = "waiting"     // it opened a gate and stopped; uses up no retry
	Aborted    Outcome = "aborted"     // ended by a person or a shutdown; uses up no retry
	Lost       Outcome = "lost"        // its supervisor died; uses up no retry
	NotStarted Outcome = "not_started" // its supervisor died before it started the child; uses up no retry
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
	ReasonOutdated EndReason = "outdated"  // a newer attempt replaced it
	ReasonNotReady EndReason = "not_ready" // a service that was not ready in time
	ReasonLost     EndReason = "lost"      // its worker no longer answers
	ReasonOrphaned EndReason = "orphaned"  // a service, after no engine worked on its run for too long
)

// AttemptStats is the resource usage of an attempt, from its exit record.
type AttemptStats struct {
	Seconds     float64 `json:"seconds"` // wall clock, without suspended time
	CPUSeconds  float64 `json:"cpu_seconds,omitempty"`
	OutputBytes int64   `json:"output_bytes,omitempty"`

	Killed    int      `json:"killed,omitempty"`    // processes that the attempt left running, and that its supervisor killed
	Leftovers []string `json:"leftovers,omitempty"` // the first of them, as "name (PID)"
}

// Progressed is progress that a step reported: with a CLI command, a line of the events file, or a marker in its output.
type Progressed struct {
	AttemptRef
	Text   string   `json:"text,omitempty"`
	Done   *float64 `json:"done,omitempty"` // of Total; per cent where Total is absent
	Total  *float64 `json:"total,omitempty"`
	Marker *Marker  `json:"marker,omitempty"`
	Cell   string   `json:"cell,omitempty"`   // of a kernel step, that begins
	Saving bool     `json:"saving,omitempty"` // the cell of a kernel step has ended, and its variables are being saved
	Note   bool     `json:"note,omitempty"`   // see Progress
	Usage  Usage    `json:"usage,omitzero"`   // of the attempt so far
	Source *Source  `json:"source,omitempty"`
}

func (Progressed) Event() EventType { return "step.progress" }

func (p Progressed) fold(s *State, e Event) error {
	_, t, err := s.live(p.AttemptRef)
	if err != nil {
		return err
	}
	progress := &Progress{Text: p.Text, Done: p.Done, Total: p.Total, Time: e.Time, Saving: p.Saving}
	if t.Live.Progress = progress; p.Cell != "" {
		t.Live.Warnings = nil
	}
	if p.Usage != (Usage{}) {
		t.Live.Usage = p.Usage
	}
	s.Steps[p.Step].Progress = progress
	return nil
}

func (p Progressed) source() *Source { return p.Source }

// Marker is a line such as [STAGE:begin:id=S01_load_data] in a step's output, in Gyoshu's grammar. Markers are hints, never evidence.
type Marker struct {
	Type       string            `json:"type"`
	Subtype    *string           `json:"subtype,omitempty"` // present but empty for [TYPE::…]
	Attributes map[string]string `json:"attributes"`
	Content    string            `json:"content"`
	Line       int               `json:"lineNumber"` // from 1
	Valid      bool              `json:"valid"`      // its type is one of the known ones
}

// Conversed records the agent session of an attempt, so that a later attempt can resume it.
type Conversed struct {
	AttemptRef
	Conversation
	Source *Source `json:"source,omitempty"`
}

func (Conversed) Event() EventType { return "attempt.conversed" }

func (p Conversed) fold(s *State, _ Event) error {
	_, t, err := s.live(p.AttemptRef)
	if err != nil {
		return err
	}
	c := p.Conversation
	c.Definition = t.Live.Key.Definition
	t.Conversation = &c
	return nil
}

func (p Conversed) source() *Source { return p.Source }

// Heartbeat is the watchdog's observation of a live attempt, every five minutes by default.
type Heartbeat struct {
	AttemptRef
	Health      string  `json:"health"`
	CPUSeconds  float64 `json:"cpu_seconds"`
	OutputBytes int64   `json:"output_bytes"`
	Evidence    string  `json:"evidence,omitempty"`
}

func (Heartbeat) Event() EventType { return "attempt.heartbeat" }

func (p Heartbeat) fold(s *State, e Event) error {
	_, t, err := s.live(p.AttemptRef)
	if err != nil {
		return err
	}
	t.Live.Beat, t.Live.Health = e.Time, p.Health
	return nil
}

// WatchdogActed records an action of the watchdog and its reason.
type WatchdogActed struct {
	AttemptRef
	Health   string `json:"health"`
	Action   string `json:"action"`
	Evidence string `json:"evidence"`
}

func (WatchdogActed) Event() EventType { return "watchdog.acted" }

// WatchdogReports is the action of a watchdog that only warns.
const WatchdogReports = "report"

// fold keeps a warning. The effect of another action is an event of its own.
func (p WatchdogActed) fold(s *State, e Event) error {
	if _, t, err := s.live(p.AttemptRef); err == nil && p.Action == WatchdogReports {
		t.Live.Warnings = append(t.Live.Warnings, fmt.Sprintf("%s (at %s UTC)", p.Evidence, e.Time.UTC().Format(time.TimeOnly)))
	}
	return nil
}
