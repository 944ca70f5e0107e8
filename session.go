package pawl

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// SessionID identifies an agent's session: "<agent>:<the agent's own id>", and for a subagent "<agent>:<the agent's own
// id>/<the subagent's>".
type SessionID string

// SessionIDOf returns the id of an agent's session or, if sub is not empty, of its subagent's.
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

// Native returns the agent's own id of the session, which the agent's own resume command takes.
func (id SessionID) Native() string {
	_, native, _ := strings.Cut(string(id), ":")
	native, _, _ = strings.Cut(native, "/")
	return native
}

// Parent returns the session that a subagent's session belongs to; empty for other sessions.
func (id SessionID) Parent() SessionID {
	parent, _, sub := strings.Cut(string(id), "/")
	if !sub {
		return ""
	}
	return SessionID(parent)
}

// TasksStep is the step that holds the task list of an agent that works on no step of a plan.
const TasksStep StepID = "tasks"

// SessionDoing is the activity of a session.
type SessionDoing string

// Activities of a session, as reported by its hooks. Whether the agent is alive is known only from the process table.
const (
	SessionWorks   SessionDoing = "working"
	SessionIdle    SessionDoing = "idle"       // its turn ended
	SessionAsks    SessionDoing = "permission" // it waits for a person's permission
	SessionFailed  SessionDoing = "failed"     // its model is unavailable
	SessionIsEnded SessionDoing = "ended"
)

// SessionState is an agent's session in a run.
type SessionState struct {
	SessionBegan
	Since    time.Time    `json:"since"` // when it first started
	Seen     time.Time    `json:"seen"`  // time of its last event
	Seq      Seq          `json:"seq"`   // number of its last event
	Doing    SessionDoing `json:"doing"`
	Why      string       `json:"why,omitempty"`    // why it failed, asks or ended
	First    string       `json:"first,omitempty"`  // the first prompt
	Asked    string       `json:"asked,omitempty"`  // the latest prompt
	Said     string       `json:"said,omitempty"`   // its last message
	Did      int          `json:"did,omitempty"`    // operations with an outcome
	Recent   []string     `json:"recent,omitempty"` // the latest operations that may have changed something, oldest first
	Compacts int          `json:"compacts,omitempty"`
}

const (
	maxRecent     = 5   // operations listed in SessionState.Recent
	maxRecentText = 160 // bytes of each
)

// did records an operation with a known outcome.
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

// SessionsByTime returns the sessions of a run, the most recently active first.
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

// SessionBegan records that an agent's session started, or continued after it had ended or was compacted.
type SessionBegan struct {
	Session    SessionID `json:"session"`
	Source     string    `json:"source,omitempty"`     // as reported by the agent: startup, resume, clear, compact or fork; empty: its start was not reported
	Dir        string    `json:"dir,omitempty"`        // absolute path of its working directory
	Transcript string    `json:"transcript,omitempty"` // absolute path of the agent's own record
	Model      string    `json:"model,omitempty"`
	Process    *Process  `json:"process,omitempty"` // of the agent
	Step       StepID    `json:"step,omitempty"`    // the step whose attempt the session is; empty: none
}

func (SessionBegan) Event() EventType { return "session.began" }

// fold leaves the session's open operations in doubt, unless the session only continues: after a compaction, or where its
// beginning was not recorded.
func (p SessionBegan) fold(s *State, e Event) error {
	x, err := s.touchSession(e, p.Session)
	if err != nil {
		return err
	}
	same := x.Process == nil || p.Process != nil && *x.Process == *p.Process
	x.SessionBegan, x.Why = p, ""
	if p.Source == "compact" || p.Source == "" && same {
		return nil
	}
	s.abandonOperations(p.Session)
	if x.Doing = SessionIdle; p.Session.Parent() != "" {
		x.Doing = SessionWorks
	}
	return nil
}

// SessionPrompted records a person's prompt to a session, without secrets.
type SessionPrompted struct {
	Session SessionID `json:"session"`
	Text    string    `json:"text"`
	Digest  string    `json:"digest"` // SHA-256 of the original prompt
}

func (SessionPrompted) Event() EventType { return "session.prompted" }

func (p SessionPrompted) fold(s *State, e Event) error {
	x, err := s.touchSession(e, p.Session)
	if err != nil {
		return err
	}
	s.abandonOperations(p.Session)
	x.Doing, x.Why, x.Asked, x.First = SessionWorks, "", p.Text, cmp.Or(x.First, p.Text)
	return nil
}

// SessionTurned records a new activity of a session.
type SessionTurned struct {
	Session SessionID    `json:"session"`
	Doing   SessionDoing `json:"doing"`
	Why     string       `json:"why,omitempty"`
	Said    string       `json:"said,omitempty"` // its last message, without secrets
}

func (SessionTurned) Event() EventType { return "session.turned" }

// fold closes, at the end of a turn, the operations whose verdict the session was told, unless something other than the
// session ended the turn.
func (p SessionTurned) fold(s *State, e Event) error {
	x, err := s.touchSession(e, p.Session)
	if err != nil {
		return err
	}
	x.Doing, x.Why, x.Said = p.Doing, p.Why, cmp.Or(p.Said, x.Said)
	if p.Doing != SessionIdle && p.Doing != SessionFailed {
		return nil
	}
	s.abandonOperations(p.Session)
	for id, o := range s.Operations {
		if p.Doing == SessionIdle && p.Why == "" && o.Judged != nil && o.Judged.Told == p.Session {
			delete(s.Operations, id)
		}
	}
	return nil
}

// SessionCompacted records that a session's context is about to be compacted.
type SessionCompacted struct {
	Session SessionID `json:"session"`
	Trigger string    `json:"trigger,omitempty"` // manual | auto
}

func (SessionCompacted) Event() EventType { return "session.compacted" }

func (p SessionCompacted) fold(s *State, e Event) error {
	x, err := s.touchSession(e, p.Session)
	if err != nil {
		return err
	}
	x.Compacts++
	return nil
}

// SessionEnded records that a session ended normally.
type SessionEnded struct {
	Session SessionID `json:"session"`
	Why     string    `json:"why,omitempty"`
}

func (SessionEnded) Event() EventType { return "session.ended" }

// fold discards the state of a subagent's session.
func (p SessionEnded) fold(s *State, e Event) error {
	x, err := s.touchSession(e, p.Session)
	if err != nil {
		return err
	}
	s.abandonOperations(p.Session)
	x.Doing, x.Why = SessionIsEnded, p.Why
	if p.Session.Parent() != "" {
		delete(s.Sessions, p.Session)
	}
	return nil
}

// touchSession returns the session's state and records that the session was active. It adds a session whose beginning was
// not recorded.
func (s *State) touchSession(e Event, id SessionID) (*SessionState, error) {
	if id == "" {
		return nil, fmt.Errorf("%s without a session", e.Type)
	}
	if s.Sessions == nil {
		s.Sessions = map[SessionID]*SessionState{}
	}
	x := s.Sessions[id]
	if x == nil {
		s.dropSession()
		x = &SessionState{SessionBegan: SessionBegan{Session: id}, Since: e.Time, Doing: SessionWorks}
		s.Sessions[id] = x
	}
	x.Seen, x.Seq = e.Time, e.Seq
	return x, nil
}

// MaxSessions is how many sessions a state keeps, so that it does not grow with the history of a long-lived run.
const MaxSessions = 100

// dropSession makes room for another session: it drops the one that has been inactive for longest, except sessions with
// an operation without an outcome.
func (s *State) dropSession() {
	if len(s.Sessions) < MaxSessions {
		return
	}
	open := map[SessionID]bool{}
	for _, o := range s.Operations {
		open[o.Session] = true
	}
	var oldest *SessionState
	for id, x := range s.Sessions {
		if !open[id] && (oldest == nil || x.Seq < oldest.Seq) {
			oldest = x
		}
	}
	if oldest != nil {
		delete(s.Sessions, oldest.Session)
		s.Dropped++
	}
}

// SessionCount returns the number of sessions, including those that the state does not keep.
func (s *State) SessionCount() int { return len(s.Sessions) + s.Dropped }

// abandonOperations records that a session continues or ends without reporting the outcome of its open operations.
func (s *State) abandonOperations(id SessionID) {
	for _, o := range s.Operations {
		if o.Session == id {
			o.Abandoned = true
		}
	}
}
