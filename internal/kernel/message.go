package kernel

import (
	"encoding/json"
	"time"
)

// Message is something that a kernel reported.
type Message struct {
	Time time.Time `json:"time"`
	Cell CellID    `json:"cell,omitempty"` // empty: of no cell
	Kind Kind      `json:"kind"`

	Stream    Stream                     `json:"stream,omitempty"` // of KindStream
	Text      string                     `json:"text,omitempty"`   // of KindStream and KindStatus; of KindReply: ok, error or aborted
	Data      map[string]json.RawMessage `json:"data,omitempty"`   // MIME type → JSON value; of KindDisplay, KindResult and KindUpdate
	Metadata  json.RawMessage            `json:"metadata,omitempty"`
	DisplayID string                     `json:"display_id,omitempty"`      // of KindDisplay and KindUpdate
	Count     int                        `json:"execution_count,omitempty"` // of KindStarted, KindResult and KindReply
	Wait      bool                       `json:"wait,omitempty"`            // of KindClear: clear when the next output comes
	Error     *Error                     `json:"error,omitempty"`           // of KindError, and of KindReply
	Comm      *Comm                      `json:"comm,omitempty"`            // of KindComm
}

// PlainText returns the plain text of a display or result; "" if it has none.
func (m *Message) PlainText() string {
	var text string
	if json.Unmarshal(m.Data["text/plain"], &text) != nil {
		return ""
	}
	return text
}

// Kind is the kind of a message.
type Kind string

// Kinds of messages.
const (
	KindStarted Kind = "started" // the kernel executes the cell
	KindBusy    Kind = "busy"
	KindIdle    Kind = "idle"
	KindStream  Kind = "stream"
	KindDisplay Kind = "display"
	KindUpdate  Kind = "update" // of the displays with the same id
	KindResult  Kind = "result" // value of the last expression
	KindClear   Kind = "clear"
	KindError   Kind = "error"
	KindReply   Kind = "reply"  // to the execute request
	KindComm    Kind = "comm"   // of a widget
	KindStatus  Kind = "status" // of the kernel itself, in Text: starting, restarting, dead
)

// Stream is an output stream.
type Stream string

// The streams.
const (
	Stdout Stream = "stdout"
	Stderr Stream = "stderr"
)

// Comm is a message of a widget.
type Comm struct {
	ID      string          `json:"id"`
	Type    string          `json:"type"` // open, msg or close
	Target  string          `json:"target,omitempty"`
	Data    json.RawMessage `json:"data,omitempty"`
	Buffers [][]byte        `json:"buffers,omitempty"` // binary data of the widget
}
