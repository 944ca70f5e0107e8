package pawl

// OperationBegun is the intent of an operation: it is durable before the tool runs.
type OperationBegun struct{ Operation }

// OperationEnded is the outcome of an operation.
type OperationEnded struct {
	Operation OperationID `json:"operation,omitempty"` // empty: the oldest open one of the session with this digest
	Session   SessionID   `json:"session"`
	Digest    string      `json:"digest,omitempty"` // as in Operation
	Failed    bool        `json:"failed,omitempty"`
	Error     string      `json:"error,omitempty"` // without secrets
	Seconds   float64     `json:"seconds,omitempty"`
	Answer    string      `json:"answer,omitempty"` // SHA-256 of what the tool answered
	Bytes     int         `json:"bytes,omitempty"`  // of that
}

// OperationJudged says how far an operation in doubt came, by what evidence, and which session was told so. Once that
// session has ended a turn, the matter is closed.
type OperationJudged struct {
	Operation OperationID      `json:"operation"`
	Verdict   OperationVerdict `json:"verdict"`
	Evidence  []string         `json:"evidence,omitempty"`
	Runs      bool             `json:"runs,omitempty"`   // a process of it lived, or one that may be of it
	Traces    OperationVerdict `json:"traces,omitempty"` // then: the verdict by what it had left alone
	Told      SessionID        `json:"told,omitempty"`
}

func (OperationBegun) Event() EventType  { return "operation.begun" }
func (OperationEnded) Event() EventType  { return "operation.ended" }
func (OperationJudged) Event() EventType { return "operation.judged" }
