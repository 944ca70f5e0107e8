package pawl

import (
	"cmp"
	"fmt"
	"slices"
)

func (s *State) applySession(e Event, payload Payload) error {
	switch p := payload.(type) {
	case SessionBegan:
		return s.heard(e, p.Session, func(x *SessionState) { s.sessionBegan(x, p) })
	case SessionPrompted:
		return s.heard(e, p.Session, func(x *SessionState) {
			s.leave(p.Session)
			x.Doing, x.Why, x.Asked, x.First = SessionWorks, "", p.Text, cmp.Or(x.First, p.Text)
		})
	case SessionTurned:
		return s.heard(e, p.Session, func(x *SessionState) { s.sessionTurned(x, p) })
	case SessionCompacted:
		return s.heard(e, p.Session, func(x *SessionState) { x.Compacts++ })
	case SessionEnded:
		return s.heard(e, p.Session, func(x *SessionState) { s.sessionEnded(x, p) })
	}
	return nil
}

func (s *State) applyOperation(e Event, payload Payload) error {
	switch p := payload.(type) {
	case OperationBegun:
		return s.operationBegun(e, p.Operation)
	case OperationEnded:
		return s.operationEnded(e, p)
	case OperationJudged:
		o := s.Operations[p.Operation]
		if o == nil {
			return fmt.Errorf("operation %s is not in doubt", p.Operation)
		}
		o.Judged = &p
	}
	return nil
}

// sessionBegan takes note of a session. What it had left open is in doubt, unless it only goes on: after a compaction, or
// where nobody had heard of its beginning.
func (s *State) sessionBegan(x *SessionState, p SessionBegan) {
	same := x.Process == nil || p.Process != nil && *x.Process == *p.Process
	x.SessionBegan, x.Why = p, ""
	if p.Source == "compact" || p.Source == "" && same {
		return
	}
	s.leave(p.Session)
	if x.Doing = SessionIdle; p.Session.Parent() != "" {
		x.Doing = SessionWorks
	}
}

// sessionTurned takes note of what a session does. At the end of its turn what it was told is settled, unless something else
// than the session has ended it.
func (s *State) sessionTurned(x *SessionState, p SessionTurned) {
	x.Doing, x.Why, x.Said = p.Doing, p.Why, cmp.Or(p.Said, x.Said)
	if p.Doing != SessionIdle && p.Doing != SessionFailed {
		return
	}
	s.leave(p.Session)
	for id, o := range s.Operations {
		if p.Doing == SessionIdle && p.Why == "" && o.Judged != nil && o.Judged.Told == p.Session {
			delete(s.Operations, id)
		}
	}
}

// sessionEnded takes note of a session's end. Of a subagent nothing more is kept.
func (s *State) sessionEnded(x *SessionState, p SessionEnded) {
	s.leave(p.Session)
	x.Doing, x.Why = SessionIsEnded, p.Why
	if p.Session.Parent() != "" {
		delete(s.Sessions, p.Session)
	}
}

// session returns a session's state. One that was never said to begin is one whose beginning nobody saw.
func (s *State) session(e Event, id SessionID) *SessionState {
	if s.Sessions == nil {
		s.Sessions = map[SessionID]*SessionState{}
	}
	x := s.Sessions[id]
	if x == nil {
		x = &SessionState{SessionBegan: SessionBegan{Session: id}, Since: e.Time, Doing: SessionWorks}
		s.Sessions[id] = x
	}
	return x
}

// heard notes that a session gave a sign of life.
func (s *State) heard(e Event, id SessionID, what func(*SessionState)) error {
	if id == "" {
		return fmt.Errorf("%s of no session", e.Type)
	}
	x := s.session(e, id)
	x.Seen, x.Seq = e.Time, e.Seq
	what(x)
	return nil
}

// leave notes that a session goes on, or ends, without a word on what it has open.
func (s *State) leave(id SessionID) {
	for _, o := range s.Operations {
		if o.Session == id {
			o.Left = true
		}
	}
}

func (s *State) operationBegun(e Event, o Operation) error {
	if o.ID == "" {
		o.ID = OperationIDOf(o.Session, fmt.Sprint("event-", e.Seq))
	}
	if err := s.heard(e, o.Session, func(x *SessionState) { x.Doing, x.Why = SessionWorks, "" }); err != nil {
		return err
	}
	if s.Operations == nil {
		s.Operations = map[OperationID]*OperationState{}
	}
	for _, other := range s.Operations {
		if other.Judged != nil && other.Until.IsZero() {
			other.Until = e.Time
		}
	}
	s.Operations[o.ID] = &OperationState{Operation: o, Began: e.Time, Seq: e.Seq, Overlaps: s.stepsBeside(s.Sessions[o.Session].Step)}
	return nil
}

// stepsBeside reports whether attempts run at other steps than that which a session works for.
func (s *State) stepsBeside(step StepID) bool {
	return slices.ContainsFunc(s.Live(), func(a *AttemptState) bool { return a.Step != step })
}

func (s *State) operationEnded(e Event, p OperationEnded) error {
	id := p.Operation
	if id == "" {
		id = s.oldest(p.Session, p.Digest)
	}
	o := s.Operations[id]
	if o == nil { // its intent was never seen, so it may have changed anything
		return s.heard(e, p.Session, func(x *SessionState) {
			x.Did++
			for _, other := range s.Operations {
				other.Overlaps = true
			}
		})
	}
	delete(s.Operations, id)
	for _, other := range s.Operations {
		other.besides(o)
	}
	return s.heard(e, o.Session, func(x *SessionState) {
		x.Doing, x.Why = SessionWorks, ""
		x.did(o)
	})
}

// oldest returns the oldest open operation of a session with this input. One that the session has left is not it, unless
// there is no other: that one may have been done anew.
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

// before reports whether an outcome is rather this operation's than the other's.
func (o *OperationState) before(other *OperationState) bool {
	if o.Left != other.Left {
		return other.Left
	}
	return o.Seq < other.Seq
}

// besides notes what another operation has done since this one was meant.
func (o *OperationState) besides(other *OperationState) {
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
