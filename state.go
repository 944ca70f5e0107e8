package pawl

import (
	"encoding/json"
	"math"
	"slices"
	"time"
)

// State is where a run stands: the fold of its journal. Engine, recovery, views, web and CLI all read this one.
type State struct {
	Format   int                    `json:"format"`
	Run      RunID                  `json:"run"`
	Project  string                 `json:"project"`
	Kind     RunKind                `json:"kind"`
	Name     string                 `json:"name"`
	Goal     string                 `json:"goal,omitempty"`
	Mode     Mode                   `json:"mode,omitempty"`
	Plan     RunPlanned             `json:"plan,omitzero"`
	Status   RunStatus              `json:"status"` // as recorded; see StatusNow for waiting and interrupted
	Why      string                 `json:"why,omitempty"`
	Created  time.Time              `json:"created"`
	Updated  time.Time              `json:"updated"`
	Seq      Seq                    `json:"seq"` // of the last event
	Epoch    Epoch                  `json:"epoch"`
	Engine   *EngineStarted         `json:"engine,omitempty"` // the one that has not said that it stopped
	Engines  int                    `json:"engines,omitempty"`
	Deaths   int                    `json:"deaths,omitempty"` // engines that did not say that they stopped
	Steps    map[StepID]*StepState  `json:"steps,omitempty"`
	Gates    []GateState            `json:"gates,omitempty"`
	Blockers []Blocker              `json:"blockers,omitempty"`
	Made     []Decision             `json:"decisions,omitempty"`
	Learned  int                    `json:"learned,omitempty"` // bullets added to MEMORY.md
	Saved    map[CheckpointKind]int `json:"saved,omitempty"`   // checkpoints by kind
	LastSave *Checkpoint            `json:"last_checkpoint,omitempty"`
	LastGood *Checkpoint            `json:"last_good,omitempty"` // the last that is no emergency one
	Pruned   int                    `json:"pruned,omitempty"`    // checkpoints whose snapshots were let go
	Forked   *Fork                  `json:"forked,omitempty"`
	Import   ImportState            `json:"import,omitzero"`    // where the run was imported from; zero: it was not imported
	Mirror   *RunMirrored           `json:"mirror,omitempty"`   // whose files are kept up to date
	Rollback *RollbackState         `json:"rollback,omitempty"` // one that has not ended: until then nothing is started
	Spent    Spending               `json:"spent,omitzero"`

	Sessions   map[SessionID]*SessionState     `json:"sessions,omitempty"`
	Operations map[OperationID]*OperationState `json:"operations,omitempty"` // those without an outcome

	UnknownTypes   []EventType     `json:"newer,omitempty"`   // unknown event types: a newer pawl wrote here
	RejectedEvents []RejectedEvent `json:"misfits,omitempty"` // the last MaxMisfits of them
	RejectedCount  int             `json:"misfit_count,omitempty"`
}

// NewState returns the state of a run before its first event.
func NewState() *State {
	return &State{Status: StatusActive, Steps: map[StepID]*StepState{}}
}

// Apply folds the next event into the state. It is total: an event that does not fit is kept as a Misfit and changes
// nothing else; an event of an unknown type is remembered in Newer.
func (s *State) Apply(e Event) {
	s.Seq, s.Updated = e.Seq, e.Time
	if !e.Type.Known() {
		if !slices.Contains(s.UnknownTypes, e.Type) {
			s.UnknownTypes = append(s.UnknownTypes, e.Type)
		}
		return
	}
	payload, err := e.Payload()
	if err == nil {
		err = payload.fold(s, e)
	}
	if err != nil {
		s.RejectedCount++
		s.RejectedEvents = append(s.RejectedEvents, RejectedEvent{Seq: e.Seq, Why: err.Error()})
		s.RejectedEvents = s.RejectedEvents[max(0, len(s.RejectedEvents)-MaxRejectedEvents):]
		return
	}
	if sourced, ok := payload.(interface{ source() *Source }); ok {
		s.markRead(sourced.source())
	}
}

// RejectedEvent is an event that did not fit the state when it came. It is kept and reported, never fatal.
type RejectedEvent struct {
	Seq Seq    `json:"seq"`
	Why string `json:"why"`
}

// MaxRejectedEvents is how many misfits a state keeps in full.
const MaxRejectedEvents = 100

// Clone returns a state of its own that says the same.
func (s *State) Clone() *State {
	data, err := json.Marshal(s)
	if err != nil {
		panic("a state is plain data: " + err.Error())
	}
	c := NewState()
	if err := json.Unmarshal(data, c); err != nil {
		panic("a state reads what it wrote: " + err.Error())
	}
	return c
}

// LastActive returns when something last happened to the run: in the system that it was made of, if nothing has since.
func (s *State) LastActive() time.Time {
	if s.Import.System != "" && s.Seq == s.Import.Seq && !s.Import.Active.IsZero() {
		return s.Import.Active
	}
	return s.Updated
}

// Spending is what a run has used, and how much more of each budget a person has granted.
type Spending struct {
	Seconds float64        `json:"seconds,omitempty"` // sum of the attempts' running times
	Usage   Usage          `json:"usage,omitzero"`
	Granted map[string]int `json:"granted,omitempty"` // budget → how many times it was granted again
}

func (s *State) spend(st *StepState, stats *AttemptStats, usage Usage) {
	if stats != nil {
		st.Seconds = finite(st.Seconds + stats.Seconds)
		s.Spent.Seconds = finite(s.Spent.Seconds + stats.Seconds)
	}
	for _, sum := range []*Usage{&st.Usage, &s.Spent.Usage} {
		*sum = sum.Add(usage)
		sum.USD = finite(sum.USD)
	}
}

// finite keeps a sum within what JSON can hold: a step may say any number.
func finite(v float64) float64 { return min(max(v, -math.MaxFloat64), math.MaxFloat64) }

// markRead notes up to where a live attempt's files are journaled.
func (s *State) markRead(source *Source) {
	if source == nil {
		return
	}
	_, t, err := s.live(source.AttemptRef)
	if err != nil {
		return
	}
	if t.Live.Read == nil {
		t.Live.Read = map[string]int64{}
	}
	t.Live.Read[source.File] = max(t.Live.Read[source.File], source.Offset)
}

// Source is where in an attempt's files an event was read, so that reading twice does no harm.
type Source struct {
	AttemptRef
	File   string `json:"file"`   // its name in the attempt's folder
	Offset int64  `json:"offset"` // of the byte behind the line
}
