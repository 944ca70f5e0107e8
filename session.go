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
	Why      string       `json:"why,omitempty"`      // why it failed, asks or ended
	First    string       `json:"first,omitempty"`    // the first prompt
	Asked    string       `json:"asked,omitempty"`    // the latest prompt
	Open     bool         `json:"open,omitempty"`     // the turn that the latest prompt began has not ended well
	Heir     SessionID    `json:"heir,omitempty"`     // a session that got the open turn in its brief, and has ended a turn well since
	Resolved bool         `json:"resolved,omitempty"` // a later session worked on an operation of this one that was in doubt
	Takes    []SessionID  `json:"takes,omitempty"`    // sessions whose open turns were in this one's brief, until it ends a turn well
	Said     string       `json:"said,omitempty"`     // its last message
	Did      int          `json:"did,omitempty"`      // operations with an outcome, with those of its subagents
	Recent   []PastCall   `json:"recent,omitempty"`   // the latest successful ones that may have changed something, oldest first
	Failed   []PastCall   `json:"failed,omitempty"`   // the latest failed ones that have not succeeded since, oldest first
	Compacts int          `json:"compacts,omitempty"`
}

// PastCall is an operation with an outcome.
type PastCall struct {
	ID      OperationID `json:"id,omitempty"`
	Tool    string      `json:"tool"`
	Text    string      `json:"text"`              // its summary, at most maxPastText bytes
	Dir     string      `json:"dir,omitempty"`     // as in Operation
	Error   string      `json:"error,omitempty"`   // of a failed one
	Refused bool        `json:"refused,omitempty"` // it failed because it was not permitted
	Digest  string      `json:"digest"`            // as in Operation
}

const (
	maxPastCalls = 5   // calls in SessionState.Recent, and in Failed
	maxPastText  = 400 // bytes
	maxDetailed  = 8   // sessions whose past calls are kept
	maxOpenTurns = 24  // sessions whose past calls are kept if their turn is open
)

// did records an operation with an outcome.
func (x *SessionState) did(o *OperationState, ended OperationEnded) {
	x.Did++
	x.Failed = slices.DeleteFunc(x.Failed, func(c PastCall) bool { return c.Digest == o.Digest })
	if o.onlyReads() || o.Summary == "" {
		return
	}
	call := PastCall{ID: o.ID, Tool: o.Tool, Refused: ended.Refused, Text: clipText(o.Summary, maxPastText), Dir: o.Dir, Digest: o.Digest}
	if !ended.Failed {
		x.Recent = lastCalls(append(x.Recent, call))
		return
	}
	call.Error = cmp.Or(clipText(ended.Error, maxPastText), "no reason recorded")
	x.Failed = lastCalls(append(x.Failed, call))
}

func lastCalls(calls []PastCall) []PastCall { return calls[max(0, len(calls)-maxPastCalls):] }

// clipText shortens a text to n bytes, and marks the cut.
func clipText(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "…"
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
	Worktree   string    `json:"worktree,omitempty"`   // absolute path of the top of the linked worktree that Dir lies in; empty: none
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
	s.endReplaced(p)
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

// endReplaced ends the other sessions of the process in which a session begins, because an agent's process usually holds one
// conversation. A server holds several: a session with an operation under way is not replaced.
func (s *State) endReplaced(p SessionBegan) {
	if p.Process == nil || p.Session.Parent() != "" {
		return
	}
	busy := map[SessionID]bool{p.Session: true}
	for _, o := range s.Operations {
		busy[o.Session] = busy[o.Session] || !o.Abandoned
	}
	for id, x := range s.Sessions {
		same := id.Agent() == p.Session.Agent() && x.Process != nil && *x.Process == *p.Process
		if same && !busy[id] && id.Parent() == "" && x.Doing != SessionIsEnded {
			x.Doing, x.Why = SessionIsEnded, "its agent began another session"
		}
	}
}

// SessionPrompted records a prompt to a session, without secrets.
type SessionPrompted struct {
	Session SessionID `json:"session"`
	Text    string    `json:"text"`
	Digest  string    `json:"digest"`        // SHA-256 of the original prompt
	Own     bool      `json:"own,omitempty"` // no person wrote it: a step's prompt, or one that the agent gave itself
}

func (SessionPrompted) Event() EventType { return "session.prompted" }

func (p SessionPrompted) fold(s *State, e Event) error {
	x, err := s.touchSession(e, p.Session)
	if err != nil {
		return err
	}
	s.passOperations(p.Session)
	x.Doing, x.Why = SessionWorks, ""
	if !p.Own {
		x.Asked, x.First = p.Text, cmp.Or(x.First, p.Text)
	}
	x.Open = !p.Own || x.Asked != ""
	return nil
}

// SessionTurned records a new activity of a session.
type SessionTurned struct {
	Session SessionID    `json:"session"`
	Doing   SessionDoing `json:"doing"`
	Why     string       `json:"why,omitempty"`
	Said    string       `json:"said,omitempty"`   // its last message, without secrets
	Digest  string       `json:"digest,omitempty"` // of the operation for which it asks permission, as in Operation; empty: unknown
}

func (SessionTurned) Event() EventType { return "session.turned" }

// endedWell reports whether the session itself ended its turn.
func (p SessionTurned) endedWell() bool { return p.Doing == SessionIdle && p.Why == "" }

// fold settles, if the session ended its turn well, the operations and the open turns of its brief.
func (p SessionTurned) fold(s *State, e Event) error {
	x, err := s.touchSession(e, p.Session)
	if err != nil {
		return err
	}
	x.Doing, x.Why, x.Said = p.Doing, p.Why, cmp.Or(p.Said, x.Said)
	switch {
	case p.Doing == SessionAsks:
		s.recordAsked(p, e)
		return nil
	case p.Doing != SessionIdle && p.Doing != SessionFailed:
		return nil
	}
	if !p.endedWell() {
		s.abandonOperations(p.Session)
		return nil
	}
	s.passOperations(p.Session)
	x.Open = false
	s.settleTold(x)
	return nil
}

// settleTold settles what was in the brief of a session that has ended a turn well: the operations with nothing left to check, and the
// open turns of other sessions.
func (s *State) settleTold(x *SessionState) {
	for id, o := range s.Operations {
		if o.Judged != nil && o.Judged.Told == x.Session && o.Judged.settled() {
			delete(s.Operations, id)
		}
	}
	for _, id := range x.Takes {
		if other := s.Sessions[id]; other != nil && other.Open {
			other.Heir = x.Session
		}
	}
	x.Takes = nil
}

// SessionTold records that a session got a brief that names the open turns of other sessions.
type SessionTold struct {
	Session SessionID   `json:"session"`
	Open    []SessionID `json:"open"`
}

func (SessionTold) Event() EventType { return "session.told" }

func (p SessionTold) fold(s *State, e Event) error {
	x, err := s.touchSession(e, p.Session)
	if err != nil {
		return err
	}
	x.Takes = p.Open
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

// fold discards the state of a subagent's session: its operations count as its parent's.
func (p SessionEnded) fold(s *State, e Event) error {
	x, err := s.touchSession(e, p.Session)
	if err != nil {
		return err
	}
	if p.Session.Parent() != "" {
		s.passOperations(p.Session)
		delete(s.Sessions, p.Session)
		return nil
	}
	s.abandonOperations(p.Session)
	x.Doing, x.Why = SessionIsEnded, p.Why
	return nil
}

// touchSession returns the session's state and records that the session was active. It adds a session whose beginning was not recorded.
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
		s.dropPastCalls()
		x = &SessionState{SessionBegan: SessionBegan{Session: id}, Since: e.Time, Doing: SessionWorks}
		s.Sessions[id] = x
	}
	x.Seen, x.Seq, x.Heir, x.Resolved = e.Time, e.Seq, "", false
	return x, nil
}

// MaxSessions is how many sessions a state keeps, so that it does not grow with the history of a long-lived run.
const MaxSessions = 100

// dropSession makes room for another session: of those without an open turn, or else of all, it drops the one that has been inactive for
// longest, except sessions with an operation without an outcome.
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
		switch {
		case open[id]:
		case oldest == nil, oldest.unfinished() && !x.unfinished(), oldest.unfinished() == x.unfinished() && x.Seq < oldest.Seq:
			oldest = x
		}
	}
	if oldest != nil {
		delete(s.Sessions, oldest.Session)
		s.Dropped++
	}
}

// unfinished reports whether the session's turn is open and no other session has continued it.
func (x *SessionState) unfinished() bool { return x.Open && x.Heir == "" }

// dropPastCalls drops the past calls of all but the last active sessions.
func (s *State) dropPastCalls() {
	for i, x := range s.SessionsByTime() {
		if i >= maxDetailed && !x.Open || i >= maxOpenTurns {
			x.Recent, x.Failed = nil, nil
		}
	}
}

// SessionCount returns the number of sessions, including those that the state does not keep.
func (s *State) SessionCount() int { return len(s.Sessions) + s.Dropped }

// passOperations records that a session worked on without reporting the outcome of its open operations, and of those of its subagents that
// have ended.
func (s *State) passOperations(id SessionID) {
	for _, o := range s.Operations {
		ended := o.Session.Parent() == id && s.Sessions[o.Session] == nil
		if (o.Session == id || ended) && !o.Abandoned {
			o.Abandoned, o.Passed = true, true
		}
	}
}

// abandonOperations records that a session continues or ends without reporting the outcome of its open operations.
func (s *State) abandonOperations(id SessionID) {
	for _, o := range s.Operations {
		if o.Session == id {
			o.Abandoned = true
		}
	}
}
