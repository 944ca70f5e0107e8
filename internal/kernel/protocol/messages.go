package jupyter

import (
	"encoding/json"
	"fmt"
	"time"

	"pawl/internal/kernel"
)

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

// message converts what a kernel published on iopub. It returns the zero Kind for what pawl does not need.
func message(w wire) (kernel.Message, error) {
	m := kernel.Message{Time: timeOf(w.Date)}
	var c content
	if err := json.Unmarshal(w.content, &c); err != nil {
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

func display(m kernel.Message, w wire, c content) (kernel.Message, error) {
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

// timeOf returns the time at which the kernel sent a message; now if it does not say so. Kernels use several formats.
func timeOf(date string) time.Time {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05.999999999Z07:00"} {
		if t, err := time.Parse(layout, date); err == nil {
			return t
		}
	}
	return time.Now()
}
