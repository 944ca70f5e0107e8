package pawl

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// OperationID identifies an operation within its run: "<session>#<the agent's id of the tool call>".
type OperationID string

// OperationIDOf returns the id of an agent's tool call.
func OperationIDOf(session SessionID, call string) OperationID {
	return OperationID(string(session) + "#" + call)
}

// Operation is a tool call of an attached agent, as announced.
type Operation struct {
	ID      OperationID   `json:"id,omitempty"` // assigned by the fold if the agent has no ids for its calls
	Session SessionID     `json:"session"`
	Tool    string        `json:"tool"` // the agent's own id or name
	Kind    OperationKind `json:"kind"`
	Summary string        `json:"summary,omitempty"` // command or other subject, without secrets, at most MaxSummary bytes
	Digest  string        `json:"digest"`            // SHA-256 of the tool's name and original input
	Paths   []string      `json:"paths,omitempty"`   // paths that it changes, relative to the project if inside
	Bound   bool          `json:"bound,omitempty"`   // a command that changes no other paths
	Gone    []string      `json:"gone,omitempty"`    // for a command: the paths that it removes, if they existed
	Expect  []Expected    `json:"expect,omitempty"`  // expected content of files afterwards
	Dir     string        `json:"dir,omitempty"`     // working directory, relative to the project if inside. Defaults to its root.
	Head    string        `json:"head,omitempty"`    // git's HEAD commit
	Clock   time.Time     `json:"clock,omitzero"`    // the file system's clock at the announcement: what the call changes has a ctime at or after it
}

// MaxSummary is the maximum length of an operation's summary, in bytes.
const MaxSummary = 2000

// OperationKind is the kind of effects that an operation can have.
type OperationKind string

// Kinds of operations.
const (
	OperationReads   OperationKind = "reads"   // changes nothing
	OperationFiles   OperationKind = "files"   // changes the files that it names, and nothing else
	OperationCommand OperationKind = "command" // a shell command
	OperationOther   OperationKind = "other"   // unknown effects: a tool on another machine, a subagent
)

// Expected is the expected content of a file after an operation.
type Expected struct {
	Path string `json:"path"`
	Was  string `json:"was,omitempty"`  // SHA-256 of the content before; empty: no file
	Will string `json:"will"`           // SHA-256 of the content after; empty: no file
	Open bool   `json:"open,omitempty"` // the content after could not be computed
}

// OperationState is an operation without a reported outcome.
type OperationState struct {
	Operation
	Began     time.Time        `json:"began"`
	Seq       Seq              `json:"seq"`               // of its intent
	Abandoned bool             `json:"left,omitempty"`    // its session continued or ended without reporting its outcome
	Until     time.Time        `json:"until,omitzero"`    // when the first operation after its verdict began
	Others    []string         `json:"others,omitempty"`  // the first MaxOthers paths that other operations changed since
	Overlaps  bool             `json:"overlap,omitempty"` // a concurrent command or step may have changed anything
	Judged    *OperationJudged `json:"judged,omitempty"`
}

// MaxOthers is how many paths OperationState.Others keeps.
const MaxOthers = 50

// OperationVerdict is how far an operation without an outcome got.
type OperationVerdict string

// The verdicts on an operation without an outcome.
const (
	OperationDone    OperationVerdict = "done"     // all of its effects are present
	OperationNotDone OperationVerdict = "not done" // none of its effects is present
	OperationPartly  OperationVerdict = "partly"   // some of its effects are present, and nothing proves the rest
	OperationUnknown OperationVerdict = "unknown"  // nothing on this machine can prove it
)

// InDoubt returns the operations without an outcome whose session continued, ended or has no live agent, oldest first. gone
// reports whether a session's agent is dead.
func (s *State) InDoubt(gone func(*SessionState) bool) []*OperationState {
	var doubts []*OperationState
	for _, o := range s.Operations {
		session := s.Sessions[o.Session]
		if o.Abandoned || session == nil || gone(session) {
			doubts = append(doubts, o)
		}
	}
	slices.SortFunc(doubts, func(a, b *OperationState) int { return cmp.Compare(a.Seq, b.Seq) })
	return doubts
}

// OperationBegun is the intent of an operation: it is durable before the tool runs.
type OperationBegun struct{ Operation }

func (OperationBegun) Event() EventType { return "operation.begun" }

func (p OperationBegun) fold(s *State, e Event) error {
	o := p.Operation
	if o.ID == "" {
		o.ID = OperationIDOf(o.Session, fmt.Sprint("event-", e.Seq))
	}
	x, err := s.touchSession(e, o.Session)
	if err != nil {
		return err
	}
	x.Doing, x.Why = SessionWorks, ""
	if s.Operations == nil {
		s.Operations = map[OperationID]*OperationState{}
	}
	for _, other := range s.Operations {
		if other.Judged != nil && other.Until.IsZero() {
			other.Until = e.Time
		}
	}
	s.Operations[o.ID] = &OperationState{Operation: o, Began: e.Time, Seq: e.Seq, Overlaps: s.runsOtherThan(x.Step)}
	return nil
}

// runsOtherThan reports whether an attempt at another step than this one is live.
func (s *State) runsOtherThan(step StepID) bool {
	return slices.ContainsFunc(s.Live(), func(a *AttemptState) bool { return a.Step != step })
}

// OperationEnded is the outcome of an operation.
type OperationEnded struct {
	Operation OperationID `json:"operation,omitempty"` // empty: the oldest open one of the session with this digest
	Session   SessionID   `json:"session"`
	Digest    string      `json:"digest,omitempty"` // as in Operation
	Failed    bool        `json:"failed,omitempty"`
	Error     string      `json:"error,omitempty"` // without secrets
	Seconds   float64     `json:"seconds,omitempty"`
	Answer    string      `json:"answer,omitempty"` // SHA-256 of what the tool answered
	Bytes     int         `json:"bytes,omitempty"`  // size of the answer
}

func (OperationEnded) Event() EventType { return "operation.ended" }

func (p OperationEnded) fold(s *State, e Event) error {
	id := p.Operation
	if id == "" {
		id = s.oldest(p.Session, p.Digest)
	}
	o := s.Operations[id]
	if o == nil {
		return p.foldUnannounced(s, e)
	}
	delete(s.Operations, id)
	for _, other := range s.Operations {
		other.recordConcurrent(o)
	}
	x, err := s.touchSession(e, o.Session)
	if err != nil {
		return err
	}
	x.Doing, x.Why = SessionWorks, ""
	x.did(o)
	return nil
}

// foldUnannounced handles an outcome whose intent is not on record: the operation may have changed anything.
func (p OperationEnded) foldUnannounced(s *State, e Event) error {
	x, err := s.touchSession(e, p.Session)
	if err != nil {
		return err
	}
	x.Did++
	for _, other := range s.Operations {
		other.Overlaps = true
	}
	return nil
}

// oldest returns the oldest open operation of a session with this input. It prefers one that the session has not abandoned:
// an abandoned one may have been repeated.
func (s *State) oldest(session SessionID, digest string) OperationID {
	var oldest *OperationState
	for _, o := range s.Operations {
		if o.Session == session && o.Digest == digest && (oldest == nil || o.before(oldest)) {
			oldest = o
		}
	}
	if oldest == nil {
		return ""
	}
	return oldest.ID
}

// before reports whether an outcome more likely belongs to this operation than to the other.
func (o *OperationState) before(other *OperationState) bool {
	if o.Abandoned != other.Abandoned {
		return other.Abandoned
	}
	return o.Seq < other.Seq
}

// recordConcurrent records the changes of an operation that ended after this one began.
func (o *OperationState) recordConcurrent(other *OperationState) {
	if other.Kind == OperationReads {
		return
	}
	o.Overlaps = o.Overlaps || other.Kind != OperationFiles && !other.Bound
	for _, path := range other.Paths {
		if slices.Contains(o.Others, path) {
			continue
		}
		if len(o.Others) == MaxOthers {
			o.Overlaps = true
			return
		}
		o.Others = append(o.Others, path)
	}
}

// OperationJudged records how far an operation without an outcome got, the evidence, and the session that was informed. The
// operation is closed when that session ends a turn.
type OperationJudged struct {
	Operation OperationID      `json:"operation"`
	Verdict   OperationVerdict `json:"verdict"`
	Evidence  []string         `json:"evidence,omitempty"`
	Runs      bool             `json:"runs,omitempty"`   // one of its processes was alive, or one that may be
	Traces    OperationVerdict `json:"traces,omitempty"` // then: the verdict by its traces alone
	Told      SessionID        `json:"told,omitempty"`
}

func (OperationJudged) Event() EventType { return "operation.judged" }

func (p OperationJudged) fold(s *State, _ Event) error {
	o := s.Operations[p.Operation]
	if o == nil {
		return fmt.Errorf("operation %s is not in doubt", p.Operation)
	}
	o.Judged = &p
	return nil
}
