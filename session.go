package pawl

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// SessionID names a session of an agent: "<agent>:<the agent's own id>", and that of a subagent
// "<agent>:<the agent's own id>/<the subagent's>".
type SessionID string

// SessionIDOf returns the id of an agent's session, or where sub is not empty of its subagent.
func SessionIDOf(agent, native, sub string) SessionID {
	id := agent + ":" + native
	if sub != "" {
		id += "/" + sub
	}
	return SessionID(id)
}

// Agent returns the name of the agent.
func (id SessionID) Agent() string {
	agent, _, _ := strings.Cut(string(id), ":")
	return agent
}

// Native returns the agent's own id of the session, which its native resume takes.
func (id SessionID) Native() string {
	_, native, _ := strings.Cut(string(id), ":")
	native, _, _ = strings.Cut(native, "/")
	return native
}

// Parent returns the session that a subagent's session belongs to; empty: it is none.
func (id SessionID) Parent() SessionID {
	parent, _, sub := strings.Cut(string(id), "/")
	if !sub {
		return ""
	}
	return SessionID(parent)
}

// TasksStep is the step under which the task list of an agent is kept that works on no step of a plan.
const TasksStep StepID = "tasks"

// SessionDoing is what a session is doing.
type SessionDoing string

// What a session is doing, as far as its hooks tell. Whether its agent still lives only the process table tells.
const (
	SessionWorks   SessionDoing = "working"
	SessionIdle    SessionDoing = "idle"       // its turn ended
	SessionAsks    SessionDoing = "permission" // it waits for a person's permission
	SessionFailed  SessionDoing = "failed"     // its model could not be asked
	SessionIsEnded SessionDoing = "ended"
)

// SessionState is a session of an agent in a run.
type SessionState struct {
	SessionBegan
	Since    time.Time    `json:"since"` // when it first began
	Seen     time.Time    `json:"seen"`  // its last event
	Seq      Seq          `json:"seq"`   // of its last event
	Doing    SessionDoing `json:"doing"`
	Why      string       `json:"why,omitempty"`    // it failed, asks or ended
	First    string       `json:"first,omitempty"`  // the first thing that a person asked of it
	Asked    string       `json:"asked,omitempty"`  // the last
	Said     string       `json:"said,omitempty"`   // its last words
	Did      int          `json:"did,omitempty"`    // operations with an outcome
	Recent   []string     `json:"recent,omitempty"` // what the last of them were that may have changed something, the oldest first
	Compacts int          `json:"compacts,omitempty"`
}

const (
	maxRecent     = 5   // operations of a session that are remembered by what they were about
	maxRecentText = 160 // bytes of each
)

// did notes an operation whose outcome is known.
func (x *SessionState) did(o *OperationState) {
	x.Did++
	if o.Kind == OperationReads || o.Summary == "" {
		return
	}
	text := o.Tool + " " + o.Summary
	if len(text) > maxRecentText {
		text = strings.ToValidUTF8(text[:maxRecentText], "") + "…"
	}
	if x.Recent = append(x.Recent, text); len(x.Recent) > maxRecent {
		x.Recent = x.Recent[1:]
	}
}

// SessionsByTime returns the sessions of a run, the one that was heard of last first.
func (s *State) SessionsByTime() []*SessionState {
	var all []*SessionState
	for _, session := range s.Sessions {
		all = append(all, session)
	}
	slices.SortFunc(all, func(a, b *SessionState) int {
		return cmp.Or(cmp.Compare(b.Seq, a.Seq), cmp.Compare(a.Session, b.Session))
	})
	return all
}
