package pawl

import (
	"encoding/json"
	"time"
)

// State is where a run stands: the fold of its journal. Engine, recovery, views, web and CLI all read this one.
type State struct {
	Format       int                    `json:"format"`
	Run          RunID                  `json:"run"`
	Project      string                 `json:"project"`
	Kind         RunKind                `json:"kind"`
	Name         string                 `json:"name"`
	Goal         string                 `json:"goal,omitempty"`
	Mode         Mode                   `json:"mode,omitempty"`
	Plan         RunPlanned             `json:"plan,omitzero"`
	Status       RunStatus              `json:"status"` // as recorded; see StatusNow for waiting and interrupted
	Why          string                 `json:"why,omitempty"`
	Created      time.Time              `json:"created"`
	Updated      time.Time              `json:"updated"`
	Seq          Seq                    `json:"seq"` // of the last event
	Epoch        Epoch                  `json:"epoch"`
	Engine       *EngineStarted         `json:"engine,omitempty"` // the one that has not said that it stopped
	Engines      int                    `json:"engines,omitempty"`
	Deaths       int                    `json:"deaths,omitempty"` // engines that did not say that they stopped
	Steps        map[StepID]*StepState  `json:"steps,omitempty"`
	Gates        []GateState            `json:"gates,omitempty"`
	Blockers     []Blocker              `json:"blockers,omitempty"`
	Made         []Decision             `json:"decisions,omitempty"`
	Learned      int                    `json:"learned,omitempty"` // bullets added to MEMORY.md
	Saved        map[CheckpointKind]int `json:"saved,omitempty"`   // checkpoints by kind
	LastSave     *Checkpoint            `json:"last_checkpoint,omitempty"`
	LastGood     *Checkpoint            `json:"last_good,omitempty"` // the last that is no emergency one
	Pruned       int                    `json:"pruned,omitempty"`    // checkpoints whose snapshots were let go
	Forked       *Fork                  `json:"forked,omitempty"`
	Imported     string                 `json:"imported,omitempty"`        // the system that it was made of
	ImportedAs   string                 `json:"imported_as,omitempty"`     // what that system called it
	ImportPath   string                 `json:"import_path,omitempty"`     // where that system's files were
	ImportPlace  string                 `json:"import_place,omitempty"`    // below that, where there may be several
	ImportNext   string                 `json:"import_next,omitempty"`     // where it said to go on
	ImportSeq    Seq                    `json:"import_seq,omitempty"`      // of the event that says so
	ImportActive time.Time              `json:"import_active_at,omitzero"` // when somebody last worked on what it was made of
	Mirror       *RunMirrored           `json:"mirror,omitempty"`          // whose files are kept up to date
	Rollback     *RollbackState         `json:"rollback,omitempty"`        // one that has not ended: until then nothing is started
	Spent        Spending               `json:"spent,omitzero"`

	Sessions   map[SessionID]*SessionState     `json:"sessions,omitempty"`
	Operations map[OperationID]*OperationState `json:"operations,omitempty"` // those without an outcome

	Newer   []EventType `json:"newer,omitempty"`   // unknown event types: a newer pawl wrote here
	Misfits []Misfit    `json:"misfits,omitempty"` // the last MaxMisfits of them
	Misfit  int         `json:"misfit_count,omitempty"`
}

// LastActive returns when something last happened to the run: in the system that it was made of, if nothing has since.
func (s *State) LastActive() time.Time {
	if s.Imported != "" && s.Seq == s.ImportSeq && !s.ImportActive.IsZero() {
		return s.ImportActive
	}
	return s.Updated
}

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

// Spending is what a run has used, and how much more of each budget a person has granted.
type Spending struct {
	Seconds float64        `json:"seconds,omitempty"` // sum of the attempts' running times
	Usage   Usage          `json:"usage,omitzero"`
	Granted map[string]int `json:"granted,omitempty"` // budget → how many times it was granted again
}

// Misfit is an event that did not fit the state when it came. It is kept and reported, never fatal.
type Misfit struct {
	Seq Seq    `json:"seq"`
	Why string `json:"why"`
}

// MaxMisfits is how many misfits a state keeps in full.
const MaxMisfits = 100

// GateState is a gate and what became of it.
type GateState struct {
	Gate
	Answer    *GateAnswered `json:"answer,omitempty"`
	Expired   bool          `json:"expired,omitempty"`
	Withdrawn string        `json:"withdrawn,omitempty"` // why
	Settled   bool          `json:"settled,omitempty"`   // its step has gone on since
	Closed    time.Time     `json:"closed,omitzero"`
}

// Open reports whether the gate still waits for an answer.
func (g *GateState) Open() bool { return g.Answer == nil && !g.Expired && g.Withdrawn == "" }

// StepStatus is where a step stands.
type StepStatus string

// The statuses of a step.
const (
	Pending      StepStatus = "pending"
	Running      StepStatus = "running"
	AwaitsGate   StepStatus = "waiting"   // for a gate
	AwaitsReview StepStatus = "in_review" // done but for its reviews
	Done         StepStatus = "done"
	GaveUp       StepStatus = "failed"
	Skipped      StepStatus = "skipped"
)

// StepState is where a step stands.
type StepState struct {
	Status   StepStatus              `json:"status"`
	Try      Try                     `json:"try,omitzero"`    // of the step itself
	Items    *ItemsState             `json:"items,omitempty"` // of a foreach step
	Named    map[ItemID]ItemNamed    `json:"named,omitempty"` // items that the step itself named
	Key      Key                     `json:"key,omitzero"`    // of the finished work
	Outputs  Outputs                 `json:"outputs,omitempty"`
	Digest   string                  `json:"digest,omitempty"` // of all items' outputs
	Accept   string                  `json:"accept,omitempty"` // hash of the checks that passed
	Summary  string                  `json:"summary,omitempty"`
	Undo     string                  `json:"undo,omitempty"`
	Adopted  string                  `json:"adopted,omitempty"`
	Unsaved  string                  `json:"unsaved,omitempty"`  // why there is no snapshot of the workspace as the step left it
	Why      string                  `json:"why,omitempty"`      // why it failed, was skipped or reopened
	Rejected string                  `json:"rejected,omitempty"` // the last rejection, for PAWL_RESUME
	Reviews  map[string]StepReviewed `json:"reviews,omitempty"`
	Minimum  map[string]int          `json:"minimum,omitempty"` // scores without which it is not done
	Progress *Progress               `json:"progress,omitempty"`
	Usage    Usage                   `json:"usage,omitzero"`
	Seconds  float64                 `json:"seconds,omitempty"`      // running time of all its attempts
	Floor    int                     `json:"floor,omitempty"`        // attempts of items are numbered above it
	Attempts int                     `json:"attempts,omitempty"`     // of the step and of all its items
	Lost     float64                 `json:"lost_seconds,omitempty"` // running time of attempts that came to nothing
	CutShort int                     `json:"cut_short,omitempty"`    // attempts, of the step or its items, that did not end by themselves
	Started  time.Time               `json:"started,omitzero"`
	Ended    time.Time               `json:"ended,omitzero"`
	Done     Seq                     `json:"done,omitempty"`    // the event that says so
	Changed  []string                `json:"changed,omitempty"` // outputs changed from outside since
}

// Try is the history of tries of one step or item that is not finished yet.
type Try struct {
	Attempt  int           `json:"attempt,omitempty"`  // number of the newest
	Failures int           `json:"failures,omitempty"` // tries used up since it was last reopened
	Losses   int           `json:"losses,omitempty"`   // attempts lost in a row
	Again    bool          `json:"again,omitempty"`    // a person asked for another attempt, whatever the verdict on the last one
	Live     *AttemptState `json:"live,omitempty"`     // started and not ended
	Last     *AttemptEnded `json:"last,omitempty"`

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

// ItemsState is the work list of a foreach step. Finished items are positions in the journal, not objects.
type ItemsState struct {
	Total  int                  `json:"total"`
	Lists  []Seq                `json:"lists,omitempty"`  // the step.listed events, in order
	Done   Positions            `json:"done,omitempty"`   // index → seq of item.done, 0 where not finished
	Count  int                  `json:"count,omitempty"`  // of finished items
	Tries  map[int]*Try         `json:"tries,omitempty"`  // of unfinished items that were tried
	Failed map[int]AttemptEnded `json:"failed,omitempty"` // items that failed for good
}

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
