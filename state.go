package pawl

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"time"
)

// State is the state of a run: the fold of its journal. The engine, recovery, the views and the CLI read it.
type State struct {
	Format   int                    `json:"format"`
	Run      RunID                  `json:"run"`
	Project  string                 `json:"project"`
	Kind     RunKind                `json:"kind"`
	Name     string                 `json:"name"`
	Goal     string                 `json:"goal,omitempty"`
	Mode     Mode                   `json:"mode,omitempty"`
	Shell    Shell                  `json:"shell,omitempty"` // default of the plan's steps; see Shell.Or
	Plan     RunPlanned             `json:"plan,omitzero"`
	Given    GivenValues            `json:"given,omitzero"` // by the caller
	Status   RunStatus              `json:"status"`         // as recorded; see StatusNow for waiting and interrupted
	Why      string                 `json:"why,omitempty"`
	Ends     int                    `json:"ends,omitempty"`    // how often the run has ended
	Handler  StepID                 `json:"handler,omitempty"` // the handler that ran before the last end
	Created  time.Time              `json:"created"`
	Updated  time.Time              `json:"updated"`
	Seq      Seq                    `json:"seq"` // of the last event
	Epoch    Epoch                  `json:"epoch"`
	Engine   *EngineStarted         `json:"engine,omitempty"` // the engine that has not reported its end
	Engines  int                    `json:"engines,omitempty"`
	LastHome string                 `json:"last_home,omitempty"` // ID of the project in which the newest engine works or worked
	LastHost string                 `json:"last_host,omitempty"` // its host
	LastBoot string                 `json:"last_boot,omitempty"` // the boot ID of that host, when the engine started
	Trace    *Trace                 `json:"trace,omitempty"`
	Deaths   int                    `json:"deaths,omitempty"` // engines that ended without reporting it
	Steps    map[StepID]*StepState  `json:"steps,omitempty"`
	Gates    []GateState            `json:"gates,omitempty"`
	Blockers []Blocker              `json:"blockers,omitempty"`
	Made     []Decision             `json:"decisions,omitempty"`
	Learned  int                    `json:"learned,omitempty"` // bullets added to MEMORY.md
	Saved    map[CheckpointKind]int `json:"saved,omitempty"`   // checkpoints by kind
	LastSave *Checkpoint            `json:"last_checkpoint,omitempty"`
	LastGood *Checkpoint            `json:"last_good,omitempty"` // the last one that is not interim
	Pruned   int                    `json:"pruned,omitempty"`    // checkpoints whose snapshots were pruned
	Forked   *Fork                  `json:"forked,omitempty"`
	Update   *ResultsAdopted        `json:"update,omitempty"`   // the earlier run whose results the run adopted
	Import   ImportState            `json:"import,omitzero"`    // where the run was imported from; zero: it was not imported
	Mirror   *RunMirrored           `json:"mirror,omitempty"`   // the system whose files pawl keeps up to date
	Rollback *RollbackState         `json:"rollback,omitempty"` // the rollback in progress; until it ends, nothing else starts
	Restore  *RestoreState          `json:"restore,omitempty"`  // the unfinished restore; until it ends, no engine starts in the project
	Spent    Spending               `json:"spent,omitzero"`
	Notices  []NoticeState          `json:"notices,omitempty"` // sent, or not delivered

	Sessions   map[SessionID]*SessionState     `json:"sessions,omitempty"`         // at most MaxSessions, the last active ones
	Dropped    int                             `json:"sessions_dropped,omitempty"` // older sessions
	Operations map[OperationID]*OperationState `json:"operations,omitempty"`       // those without an outcome
	Left       []LeftProcess                   `json:"left,omitempty"`             // processes that operations with an outcome left running, at most MaxLeft

	UnknownTypes   []EventType     `json:"newer,omitempty"`   // unknown event types: a newer pawl wrote here
	RejectedEvents []RejectedEvent `json:"misfits,omitempty"` // the last MaxRejectedEvents
	RejectedCount  int             `json:"misfit_count,omitempty"`
}

// NewState returns the state of a run before its first event.
func NewState() *State {
	return &State{Status: StatusActive, Steps: map[StepID]*StepState{}}
}

// Apply folds the next event into the state. It never fails: an event that does not fit goes to RejectedEvents and changes
// nothing else; the type of an unknown event goes to UnknownTypes.
func (s *State) Apply(e Event) {
	payload, err := e.Payload()
	s.ApplyDecoded(e, payload, err)
}

// ApplyDecoded is Apply of an event whose Payload returned payload and err.
func (s *State) ApplyDecoded(e Event, payload Payload, err error) {
	s.Seq, s.Updated = e.Seq, e.Time
	if !e.Type.Known() {
		if !slices.Contains(s.UnknownTypes, e.Type) {
			s.UnknownTypes = append(s.UnknownTypes, e.Type)
		}
		return
	}
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

// RejectedEvent is an event that did not fit the state when it was folded. pawl reports it and continues.
type RejectedEvent struct {
	Seq Seq    `json:"seq"`
	Why string `json:"why"`
}

// MaxRejectedEvents is how many rejected events a state keeps.
const MaxRejectedEvents = 100

// Clone returns a deep copy.
func (s *State) Clone() *State { return s.Cloner()() }

// Cloner returns a function that returns a deep copy of the state as it is now. Another goroutine may call it later.
func (s *State) Cloner() func() *State {
	data, err := json.Marshal(s)
	return func() *State {
		c := NewState()
		if err := errors.Join(err, json.Unmarshal(data, c)); err != nil {
			panic("a state is plain data, and reads what it wrote: " + err.Error())
		}
		return c
	}
}

// LastActive returns the time of the run's last event. A run without events since its import was last active when the imported work was.
func (s *State) LastActive() time.Time {
	if s.Import.System != "" && s.Seq == s.Import.Seq && !s.Import.Active.IsZero() {
		return s.Import.Active
	}
	return s.Updated
}

// Spending is what a run has used, and the budget extensions that a person has granted.
type Spending struct {
	Seconds float64        `json:"seconds,omitempty"` // sum of the attempts' running times
	Usage   Usage          `json:"usage,omitzero"`
	Granted map[string]int `json:"granted,omitempty"` // budget → number of extensions
}

func (s *State) spend(st *StepState, stats *AttemptStats, usage Usage) {
	if stats != nil {
		st.Seconds = finite(st.Seconds + stats.Seconds)
		s.Spent.Seconds = finite(s.Spent.Seconds + stats.Seconds)
		if stats.Killed > 0 {
			st.Killed, st.Leftovers = st.Killed+stats.Killed, stats.Leftovers
		}
	}
	for _, sum := range []*Usage{&st.Usage, &s.Spent.Usage} {
		*sum = sum.Add(usage)
		sum.USD = finite(sum.USD)
	}
}

// finite limits a sum to what JSON can encode: a step may report any number.
func finite(v float64) float64 { return min(max(v, -math.MaxFloat64), math.MaxFloat64) }

// markRead records up to which offset a live attempt's files are journaled.
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

// Source is the place in an attempt's files that an event was read from. It makes reading idempotent.
type Source struct {
	AttemptRef
	File   string `json:"file"`   // its name in the attempt's folder
	Offset int64  `json:"offset"` // of the first byte after the line
}
