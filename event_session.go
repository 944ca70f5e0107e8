package pawl

// SessionBegan says that an agent's session began, or went on after it had ended or was compacted.
type SessionBegan struct {
	Session    SessionID `json:"session"`
	Source     string    `json:"source,omitempty"`     // as the agent says: startup, resume, clear, compact, fork; empty: nobody heard of its beginning
	Dir        string    `json:"dir,omitempty"`        // absolute; where it works
	Transcript string    `json:"transcript,omitempty"` // the agent's own record, absolute
	Model      string    `json:"model,omitempty"`
	Process    *Process  `json:"process,omitempty"` // of the agent
	Step       StepID    `json:"step,omitempty"`    // the step whose attempt it is; empty: it is none
}

// SessionPrompted is what a person asked of a session, without secrets.
type SessionPrompted struct {
	Session SessionID `json:"session"`
	Text    string    `json:"text"`
	Digest  string    `json:"digest"` // SHA-256 of the prompt as it was given
}

// SessionTurned says what a session is doing from here on.
type SessionTurned struct {
	Session SessionID    `json:"session"`
	Doing   SessionDoing `json:"doing"`
	Why     string       `json:"why,omitempty"`
	Said    string       `json:"said,omitempty"` // its last words, without secrets
}

// SessionCompacted says that a session's context is about to be shortened.
type SessionCompacted struct {
	Session SessionID `json:"session"`
	Trigger string    `json:"trigger,omitempty"` // manual | auto
}

// SessionEnded says that a session ended in good order.
type SessionEnded struct {
	Session SessionID `json:"session"`
	Why     string    `json:"why,omitempty"`
}

func (SessionBegan) Event() EventType     { return "session.began" }
func (SessionPrompted) Event() EventType  { return "session.prompted" }
func (SessionTurned) Event() EventType    { return "session.turned" }
func (SessionCompacted) Event() EventType { return "session.compacted" }
func (SessionEnded) Event() EventType     { return "session.ended" }
