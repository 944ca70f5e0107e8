// Package protocol has the rules of Jupyter's messaging protocol that hold for every connection to a kernel: what its messages mean for
// pawl, and when a cell is over.
package protocol

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"pawl/internal/kernel"
)

// Message is a message of a kernel, without what only its connection needs.
type Message struct {
	Channel string // iopub, shell, stdin or control
	Type    string
	ID      string
	Session string // identity of the sender
	Parent  string // id of the request
	Date    string
	Content []byte // JSON
	Buffers [][]byte
}

// content has the fields of all messages that kernels publish.
type content struct {
	State     string          `json:"execution_state"`
	Name      string          `json:"name"`
	Text      string          `json:"text"`
	Data      json.RawMessage `json:"data"`
	Metadata  json.RawMessage `json:"metadata"`
	Transient transient       `json:"transient"`
	Count     int             `json:"execution_count"`
	Wait      bool            `json:"wait"`
	Ename     string          `json:"ename"`
	Evalue    string          `json:"evalue"`
	Traceback []string        `json:"traceback"`
	CommID    string          `json:"comm_id"`
	Target    string          `json:"target_name"`
}

type transient struct {
	DisplayID string `json:"display_id"`
}

// Published converts what a kernel published on iopub. It returns the zero Kind for what pawl does not need.
func Published(w Message) (kernel.Message, error) {
	m := kernel.Message{Time: timeOf(w.Date)}
	var c content
	if err := json.Unmarshal(w.Content, &c); err != nil {
		return m, fmt.Errorf("%s: %w", w.Type, err)
	}
	m.Metadata = c.Metadata
	switch w.Type {
	case "status":
		m.Kind, m.Text = stateKind(c.State), c.State
	case "execute_input":
		m.Kind, m.Count = kernel.KindStarted, c.Count
	case "stream":
		m.Kind, m.Stream, m.Text = kernel.KindStream, kernel.Stream(c.Name), c.Text
		if m.Stream != kernel.Stderr {
			m.Stream = kernel.Stdout
		}
	case "display_data", "update_display_data", "execute_result":
		return display(m, w, c)
	case "clear_output":
		m.Kind, m.Wait = kernel.KindClear, c.Wait
	case "error":
		m.Kind, m.Error = kernel.KindError, &kernel.Error{Name: c.Ename, Value: c.Evalue, Traceback: c.Traceback}
	case "comm_open", "comm_msg", "comm_close":
		m.Kind = kernel.KindComm
		m.Comm = &kernel.Comm{ID: c.CommID, Type: w.Type[len("comm_"):], Target: c.Target, Data: c.Data, Buffers: w.Buffers}
	}
	return m, nil
}

func display(m kernel.Message, w Message, c content) (kernel.Message, error) {
	if err := json.Unmarshal(c.Data, &m.Data); err != nil {
		return m, fmt.Errorf("%s: data: %w", w.Type, err)
	}
	m.DisplayID = c.Transient.DisplayID
	switch w.Type {
	case "display_data":
		m.Kind = kernel.KindDisplay
	case "update_display_data":
		m.Kind = kernel.KindUpdate
	default:
		m.Kind, m.Count = kernel.KindResult, c.Count
	}
	return m, nil
}

func stateKind(state string) kernel.Kind {
	switch state {
	case "busy":
		return kernel.KindBusy
	case "idle":
		return kernel.KindIdle
	}
	return kernel.KindStatus
}

// Reply is the content of an execute_reply.
type Reply struct {
	Status    string   `json:"status"` // ok, error, aborted; some kernels say abort
	Count     int      `json:"execution_count"`
	Name      string   `json:"ename"`
	Value     string   `json:"evalue"`
	Traceback []string `json:"traceback"`
}

// Replied converts the reply to a request to execute a cell.
func Replied(w Message) (kernel.Message, Reply, error) {
	var r Reply
	if err := json.Unmarshal(w.Content, &r); err != nil {
		return kernel.Message{}, r, fmt.Errorf("%s: %w", w.Type, err)
	}
	m := kernel.Message{Time: timeOf(w.Date), Kind: kernel.KindReply, Text: r.Status, Count: r.Count}
	if r.Status == "error" {
		m.Error = r.error()
	}
	return m, r, nil
}

func (r *Reply) aborted() bool { return r.Status == "aborted" || r.Status == "abort" }

func (r *Reply) error() *kernel.Error {
	return &kernel.Error{Name: r.Name, Value: r.Value, Traceback: r.Traceback}
}

// Described returns what the reply to a request for information says about a kernel.
func Described(w Message) (kernel.Info, error) {
	var c struct {
		Implementation string          `json:"implementation"`
		Version        string          `json:"implementation_version"`
		Language       json.RawMessage `json:"language_info"`
	}
	var language struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	if err := json.Unmarshal(w.Content, &c); err != nil {
		return kernel.Info{}, fmt.Errorf("%s: %w", w.Type, err)
	}
	if err := json.Unmarshal(c.Language, &language); err != nil {
		return kernel.Info{}, fmt.Errorf("%s: language_info: %w", w.Type, err)
	}
	return kernel.Info{
		Language: strings.ToLower(language.Name), Version: language.Version, LanguageInfo: c.Language,
		Implementation: strings.TrimSpace(c.Implementation + " " + c.Version),
	}, nil
}

// timeOf returns the time at which the kernel sent a message; now if it does not say so. Kernels use several formats.
func timeOf(date string) time.Time {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05.999999999Z07:00"} {
		if t, err := time.Parse(layout, date); err == nil {
			return t
		}
	}
	return time.Now()
}
