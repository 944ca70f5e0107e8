package pawl

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// AttemptRef names one try of a step or of an item.
type AttemptRef struct {
	Step    StepID `json:"step"`
	Item    ItemID `json:"item,omitempty"`
	Index   int    `json:"index,omitempty"` // of the item in the step's work list
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

// Retries is the history of tries of one step or item that is not finished yet.
type Retries struct {
	Attempt    int           `json:"attempt,omitempty"`  // number of the newest
	Failures   int           `json:"failures,omitempty"` // tries used up since it was last reopened
	LostInARow int           `json:"losses,omitempty"`   // attempts lost in a row
	Again      bool          `json:"again,omitempty"`    // a person asked for another attempt, whatever the verdict on the last one
	Live       *AttemptState `json:"live,omitempty"`     // started and not ended
	Last       *AttemptEnded `json:"last,omitempty"`

	Conversation *Conversation `json:"conversation,omitempty"` // of the newest attempt that had one
}

// AttemptState is an attempt that has been started and not ended: running, or in doubt.
type AttemptState struct {
	AttemptRef
	Key      Key              `json:"key"`
	Started  time.Time        `json:"started"`
	Seq      Seq              `json:"seq"`
	Beat     time.Time        `json:"beat,omitzero"`
	Progress *Progress        `json:"progress,omitempty"`
	Usage    Usage            `json:"usage,omitzero"` // so far, as it said last
	Read     map[string]int64 `json:"read,omitempty"` // source file → offset up to which it is journaled
}

// Progress is the last thing that an attempt said of how far it was.
type Progress struct {
	Text  string    `json:"text,omitempty"`
	Done  *float64  `json:"done,omitempty"`
	Total *float64  `json:"total,omitempty"`
	Time  time.Time `json:"time,omitzero"`
	Usage Usage     `json:"usage,omitzero"` // of the attempt so far
}

// Conversation is an agent's own session, as far as it must be known to go on with it.
type Conversation struct {
	Agent AgentName `json:"agent"`
	ID    string    `json:"id"`             // as the agent calls it
	Usage Usage     `json:"usage,omitzero"` // of all of it, as the agent counts: some count from its beginning

	Definition string `json:"definition,omitempty"` // of the work that it is about, given by the fold
}

// Conversation returns the session of an agent that the newest attempt at a piece of work had, nil where none is known.
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

// live returns the tries whose live attempt this is, or why it is none: a result is believed only with the token of
// the newest attempt.
func (s *State) live(ref AttemptRef) (*StepState, *Retries, error) {
	st := s.Steps[ref.Step]
	if st == nil {
		return nil, nil, fmt.Errorf("step %s was never started", ref.Step)
	}
	t := st.retries(ref)
	if t == nil || t.Live == nil || t.Live.Token != ref.Token {
		return nil, nil, fmt.Errorf("attempt %d of %s is not the live one", ref.Attempt, ref.Name())
	}
	return st, t, nil
}

// retries returns the history of tries that an attempt belongs to, nil where there is none.
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

// mayStart returns why an attempt cannot be the step's next one.
func (st *StepState) mayStart(ref AttemptRef) error {
	newest := 0
	if t := st.retries(ref); t != nil {
		newest = t.Attempt
	}
	switch {
	case st.concluded():
		return fmt.Errorf("step %s is done already", ref.Step)
	case st.Finished():
		return fmt.Errorf("step %s is skipped", ref.Step)
	case ref.Item != "" && (st == nil || !st.Items.unfinished(ref.Index)):
		return fmt.Errorf("%s is finished or not listed", ref.Name())
	case ref.Attempt <= newest:
		return fmt.Errorf("attempt %d of %s follows attempt %d", ref.Attempt, ref.Name(), newest)
	}
	return nil
}

// AttemptStarted is an intent: durable before anything is started.
type AttemptStarted struct {
	AttemptRef
	Key Key `json:"key"`
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
	s.settleGates(p.Step)
	t.Attempt, t.Again = p.Attempt, false
	t.Live = &AttemptState{AttemptRef: p.AttemptRef, Key: p.Key, Started: e.Time, Seq: e.Seq}
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

// AttemptStats is what an attempt cost, from its exit record.
type AttemptStats struct {
	Seconds     float64 `json:"seconds"` // wall clock, without time asleep
	CPUSeconds  float64 `json:"cpu_seconds,omitempty"`
	OutputBytes int64   `json:"output_bytes,omitempty"`
}

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

func (Progressed) Event() EventType { return "step.progress" }

func (p Progressed) fold(s *State, e Event) error {
	_, t, err := s.live(p.AttemptRef)
	if err != nil {
		return err
	}
	progress := &Progress{Text: p.Text, Done: p.Done, Total: p.Total, Time: e.Time}
	t.Live.Progress = progress
	if p.Usage != (Usage{}) {
		t.Live.Usage = p.Usage
	}
	s.Steps[p.Step].Progress = progress
	return nil
}

func (p Progressed) source() *Source { return p.Source }

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

// Heartbeat is what the engine's watchdog saw of a live attempt, every five minutes by default.
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
	t.Live.Beat = e.Time
	return nil
}

// WatchdogActed says what the watchdog did, and why.
type WatchdogActed struct {
	AttemptRef
	Health   string `json:"health"`
	Action   string `json:"action"`
	Evidence string `json:"evidence"`
}

func (WatchdogActed) Event() EventType { return "watchdog.acted" }

// fold changes nothing: what the watchdog's action leads to is an event of its own.
func (WatchdogActed) fold(*State, Event) error { return nil }
