package pawl

import (
	"cmp"
	"slices"
	"time"
)

// OperationID names an operation within its run: "<session>#<the agent's id of the tool call>".
type OperationID string

// OperationIDOf returns the id of an agent's tool call.
func OperationIDOf(session SessionID, call string) OperationID {
	return OperationID(string(session) + "#" + call)
}

// Operation is one tool call of an attached agent, as it was meant.
type Operation struct {
	ID      OperationID   `json:"id,omitempty"` // empty: the agent does not name its calls; the fold gives it one
	Session SessionID     `json:"session"`
	Tool    string        `json:"tool"` // as the agent calls it
	Kind    OperationKind `json:"kind"`
	Summary string        `json:"summary,omitempty"` // the command or what else it is about, without secrets, at most MaxSummary bytes
	Digest  string        `json:"digest"`            // SHA-256 of the tool's name and input as they were given
	Paths   []string      `json:"paths,omitempty"`   // that it changes, relative to the project where they lie inside
	Bound   bool          `json:"bound,omitempty"`   // a command that changes no others
	Gone    []string      `json:"gone,omitempty"`    // of a command: what it is to take away, and what was there
	Expect  []Expected    `json:"expect,omitempty"`  // what files are to hold after it
	Dir     string        `json:"dir,omitempty"`     // where it works, relative to the project where that lies inside. Defaults to its root.
	Head    string        `json:"head,omitempty"`    // the commit that git stood at
	Clock   time.Time     `json:"clock,omitzero"`    // the file system's clock when it was meant: what it changes has a ctime at or after it
}

// MaxSummary is how long a summary of an operation is, in bytes.
const MaxSummary = 2000

// OperationKind says what an operation can do to the world.
type OperationKind string

// The kinds of operations.
const (
	OperationReads   OperationKind = "reads"   // it changes nothing
	OperationFiles   OperationKind = "files"   // it changes the files that it names, and nothing else
	OperationCommand OperationKind = "command" // a shell command
	OperationOther   OperationKind = "other"   // nobody can tell: another machine's tool, a subagent
)

// Expected is what a file is to hold after an operation.
type Expected struct {
	Path string `json:"path"`
	Was  string `json:"was,omitempty"`  // SHA-256 of its content before; empty: it was not there
	Will string `json:"will"`           // SHA-256 of its content after; empty: it is not to be there
	Open bool   `json:"open,omitempty"` // what it is to hold could not be computed
}

// OperationState is an operation whose outcome nobody has told.
type OperationState struct {
	Operation
	Began    time.Time        `json:"began"`
	Seq      Seq              `json:"seq"`               // of its intent
	Left     bool             `json:"left,omitempty"`    // its session went on or ended without a word on it
	Until    time.Time        `json:"until,omitzero"`    // when, after it was judged, somebody first began another operation
	Others   []string         `json:"others,omitempty"`  // paths that other operations have changed since, the first MaxOthers
	Overlaps bool             `json:"overlap,omitempty"` // a command or a step ran beside it that may have changed anything
	Judged   *OperationJudged `json:"judged,omitempty"`
}

// MaxOthers is how many paths of others an operation in doubt remembers.
const MaxOthers = 50

// OperationVerdict says how far an operation in doubt came.
type OperationVerdict string

// The verdicts on an operation in doubt.
const (
	OperationDone    OperationVerdict = "done"     // all that it was to do here is there
	OperationNotDone OperationVerdict = "not done" // nothing of it is there
	OperationPartly  OperationVerdict = "partly"   // something of it is there, and nothing proves that all of it is
	OperationUnknown OperationVerdict = "unknown"  // nothing on this machine could tell
)

// InDoubt returns the operations without an outcome whose session went on, ended or is gone, the oldest first. gone tells
// of a session whether its agent is no more.
func (s *State) InDoubt(gone func(*SessionState) bool) []*OperationState {
	var doubts []*OperationState
	for _, o := range s.Operations {
		session := s.Sessions[o.Session]
		if o.Left || session == nil || gone(session) {
			doubts = append(doubts, o)
		}
	}
	slices.SortFunc(doubts, func(a, b *OperationState) int { return cmp.Compare(a.Seq, b.Seq) })
	return doubts
}
