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
	Named   []string      `json:"named,omitempty"`   // the existing paths that a command names, if it is not Bound
	Sub     bool          `json:"sub,omitempty"`     // it runs a subagent
	Gone    []string      `json:"gone,omitempty"`    // for a command: the paths that it removes, if they existed
	Expect  []Expected    `json:"expect,omitempty"`  // expected content of files afterwards
	Dir     string        `json:"dir,omitempty"`     // working directory, relative to the project if inside. Defaults to its root.
	Head    string        `json:"head,omitempty"`    // git's HEAD commit
	Clock   time.Time     `json:"clock,omitzero"`    // the file system's clock at the announcement: what the call changes has a ctime at or after it
}

// onlyReads reports whether an operation changes nothing.
func (o *Operation) onlyReads() bool {
	return o.Kind == OperationReads || o.Kind == OperationCommand && o.Bound && len(o.Paths) == 0
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
	Passed    bool             `json:"passed,omitempty"`  // its session got another prompt or ended its turn well without reporting its outcome
	Asked     time.Time        `json:"asked,omitzero"`    // when a person was asked for permission; zero: not as far as known
	Made      []string         `json:"made,omitempty"`    // of a call that runs subagents: the first MaxOthers paths that these changed since
	Worked    bool             `json:"worked,omitempty"`  // a later operation changed its paths, while one of its processes was running
	Until     time.Time        `json:"until,omitzero"`    // when the first operation after its verdict began
	Others    []string         `json:"others,omitempty"`  // the first MaxOthers paths that other operations changed since
	Overlaps  bool             `json:"overlap,omitempty"` // a concurrent command or step may have changed anything
	Judged    *OperationJudged `json:"judged,omitempty"`
	JudgedAt  Seq              `json:"judged_at,omitempty"` // of the event that has Judged
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
	OperationRefused OperationVerdict = "refused"  // it was not permitted, or permission was asked and none of its effects exists
)

// InDoubt returns the operations without an outcome whose session continued, ended or has no live agent, oldest first. gone
// reports whether a session's agent is dead. Operations that change nothing are never in doubt.
func (s *State) InDoubt(gone func(*SessionState) bool) []*OperationState {
	var doubts []*OperationState
	for _, o := range s.Operations {
		session := s.Sessions[o.Session]
		if o.Kind == OperationReads {
			continue
		}
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
	Operation OperationID `json:"operation,omitempty"` // empty: the newest open one of the session with this digest
	Session   SessionID   `json:"session"`
	Digest    string      `json:"digest,omitempty"` // as in Operation
	Failed    bool        `json:"failed,omitempty"`
	Error     string      `json:"error,omitempty"`   // without secrets
	Refused   bool        `json:"refused,omitempty"` // it failed because it was not permitted
	Seconds   float64     `json:"seconds,omitempty"`
	Answer    string      `json:"answer,omitempty"` // SHA-256 of what the tool answered
	Bytes     int         `json:"bytes,omitempty"`  // size of the answer
	Source    string      `json:"source,omitempty"` // FromTranscript: found later in the agent's own record; empty: reported by a hook
}

// FromTranscript is the source of an outcome that the agent's own record names.
const FromTranscript = "transcript"

func (OperationEnded) Event() EventType { return "operation.ended" }

func (p OperationEnded) fold(s *State, e Event) error {
	id := p.Operation
	if id == "" {
		id = s.newestOpen(p.Session, p.Digest)
	}
	o := s.Operations[id]
	if o == nil {
		return p.foldUnannounced(s, e)
	}
	delete(s.Operations, id)
	for _, other := range s.Operations {
		other.recordConcurrent(o)
	}
	if !p.Failed {
		s.settleWorked(o)
	}
	x := s.Sessions[o.Session]
	if p.Source == "" {
		var err error
		if x, err = s.touchSession(e, o.Session); err != nil {
			return err
		}
		x.Doing, x.Why = SessionWorks, ""
	}
	if x != nil {
		x.did(o, p)
	}
	if parent := s.Sessions[o.Session.Parent()]; parent != nil {
		parent.did(o, p)
	}
	return nil
}

// settleWorked settles the operations in doubt that were in a brief and whose paths an operation has changed since, or that it
// repeated. While one of their processes runs, they stay.
func (s *State) settleWorked(done *OperationState) {
	for id, o := range s.Operations {
		if o.Judged == nil || o.Judged.Told == "" || done.Seq < o.JudgedAt || !o.workedOnBy(done) {
			continue
		}
		if x := s.Sessions[o.Session]; x != nil && done.Session != o.Session {
			x.Resolved = true
		}
		if o.Worked = o.Judged.Runs; !o.Worked {
			delete(s.Operations, id)
		}
	}
}

// workedOnBy reports whether an operation repeated this one, or changed a path of it.
func (o *OperationState) workedOnBy(done *OperationState) bool {
	return done.Digest == o.Digest || slices.ContainsFunc(done.Paths, func(path string) bool {
		return slices.Contains(o.Paths, path) || slices.Contains(o.Judged.Paths, path)
	})
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

// recordAsked records for which operation a session asks permission: the newest open one with this digest, or else the newest one.
func (s *State) recordAsked(p SessionTurned, e Event) {
	o := s.Operations[s.newestOpen(p.Session, p.Digest)]
	if o == nil {
		for _, other := range s.Operations {
			if other.Session == p.Session && !other.Abandoned && (o == nil || other.Seq > o.Seq) {
				o = other
			}
		}
	}
	if o != nil {
		o.Asked = e.Time
	}
}

// newestOpen returns the newest open operation of a session with this input. An older one may have been repeated because its outcome was lost.
func (s *State) newestOpen(session SessionID, digest string) OperationID {
	var newest *OperationState
	for _, o := range s.Operations {
		if o.Session == session && o.Digest == digest && (newest == nil || o.Seq > newest.Seq) {
			newest = o
		}
	}
	if newest == nil {
		return ""
	}
	return newest.ID
}

// recordConcurrent records the changes of an operation that ended after this one began.
func (o *OperationState) recordConcurrent(other *OperationState) {
	switch {
	case other.Kind == OperationReads:
		return
	case o.Sub && other.Session.Parent() == o.Session: // the subagent may be its own
		for _, path := range other.Paths {
			if !slices.Contains(o.Made, path) && len(o.Made) < MaxOthers {
				o.Made = append(o.Made, path)
			}
		}
		return
	}
	o.Overlaps = o.Overlaps || other.Kind != OperationFiles && !other.Bound
	for _, path := range slices.Concat(other.Paths, other.Named) {
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

// OperationJudged records how far an operation without an outcome got, the evidence, and the session that got it in its brief. The operation
// is settled when that session ends a turn well, if nothing is left to check; otherwise when its paths are changed, when it is repeated, or
// by OperationSettled. Until then, each new brief lists it.
type OperationJudged struct {
	Operation OperationID      `json:"operation"`
	Verdict   OperationVerdict `json:"verdict"`
	Evidence  []string         `json:"evidence,omitempty"`
	Runs      bool             `json:"runs,omitempty"`   // one of its processes was alive, or one that may be
	Traces    OperationVerdict `json:"traces,omitempty"` // then: the verdict by its traces alone
	Told      SessionID        `json:"told,omitempty"`
	Paths     []string         `json:"paths,omitempty"` // paths that it changed or may have changed
	Reads     bool             `json:"reads,omitempty"` // it seems to only read
}

// settled reports whether nothing is left to check: its effects are all there, or none is, and it is not running.
func (p *OperationJudged) settled() bool {
	return !p.Runs && (p.Reads || p.Verdict != OperationPartly && p.Verdict != OperationUnknown)
}

func (OperationJudged) Event() EventType { return "operation.judged" }

func (p OperationJudged) fold(s *State, e Event) error {
	o := s.Operations[p.Operation]
	if o == nil {
		return fmt.Errorf("operation %s is not in doubt", p.Operation)
	}
	o.Judged, o.JudgedAt = &p, e.Seq
	if o.Worked && !p.Runs {
		delete(s.Operations, p.Operation)
	}
	return nil
}

// OperationSettled records that an operation in doubt was checked.
type OperationSettled struct {
	Operation OperationID `json:"operation"`
	Why       string      `json:"why,omitempty"`
}

func (OperationSettled) Event() EventType { return "operation.settled" }

func (p OperationSettled) fold(s *State, _ Event) error {
	if s.Operations[p.Operation] == nil {
		return fmt.Errorf("operation %s is not in doubt", p.Operation)
	}
	delete(s.Operations, p.Operation)
	return nil
}

// OperationLeft records processes that an operation with an outcome has left running.
type OperationLeft struct {
	Session   SessionID `json:"session"`
	Tool      string    `json:"tool"`
	Summary   string    `json:"summary"`
	Dir       string    `json:"dir,omitempty"` // as in Operation
	Processes []Process `json:"processes"`     // at most MaxLeft
}

// MaxLeft is how many processes of operations a state keeps, the newest.
const MaxLeft = 50

// LeftProcess is a process that an operation left running when it was last seen.
type LeftProcess struct {
	Process
	Session SessionID `json:"session"`
	Tool    string    `json:"tool"`
	Summary string    `json:"summary"`
	Dir     string    `json:"dir,omitempty"`
	Time    time.Time `json:"time"` // when it was seen
}

func (OperationLeft) Event() EventType { return "operation.left" }

func (p OperationLeft) fold(s *State, e Event) error {
	if _, err := s.touchSession(e, p.Session); err != nil {
		return err
	}
	for _, process := range p.Processes {
		s.Left = slices.DeleteFunc(s.Left, func(l LeftProcess) bool { return l.Process == process })
		s.Left = append(s.Left, LeftProcess{Process: process, Session: p.Session, Tool: p.Tool, Summary: clipText(p.Summary, maxPastText), Dir: p.Dir, Time: e.Time})
	}
	s.Left = s.Left[max(0, len(s.Left)-MaxLeft):]
	return nil
}
