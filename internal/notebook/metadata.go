package notebook

import "time"

// CellMetadata is what pawl writes into the metadata of a cell that it executed. Merge keeps what others have there. The keys of all
// types are sorted, as Jupyter writes them.
type CellMetadata struct {
	Execution *Execution `json:"execution,omitempty"`
	Gyoshu    *Gyoshu    `json:"gyoshu,omitempty"`
	Papermill *Papermill `json:"papermill,omitempty"`
	Pawl      *Pawl      `json:"pawl,omitempty"`
}

// Execution has the times of an execution, as nbclient and Jupyter write them.
type Execution struct {
	Started string `json:"iopub.execute_input,omitempty"`
	Busy    string `json:"iopub.status.busy,omitempty"`
	Idle    string `json:"iopub.status.idle,omitempty"`
	Reply   string `json:"shell.execute_reply,omitempty"`
}

// Papermill is what papermill writes about the execution of a cell.
type Papermill struct {
	Duration  *float64        `json:"duration"` // seconds
	End       *string         `json:"end_time"`
	Exception *bool           `json:"exception"`
	Start     *string         `json:"start_time"`
	Status    PapermillStatus `json:"status"`
}

// PapermillStatus is the state of a cell in papermill's words.
type PapermillStatus string

// The states of a cell.
const (
	Pending   PapermillStatus = "pending"
	Running   PapermillStatus = "running"
	Completed PapermillStatus = "completed"
	Broken    PapermillStatus = "failed"
)

// Pawl says which execution of pawl the outputs of a cell are of.
type Pawl struct {
	Attempt    int    `json:"attempt"`
	CellKey    string `json:"cellKey"`              // see Keys
	Interrupts int    `json:"interrupts,omitempty"` // executions of the cell that did not come to an end
	Resumes    int    `json:"resumes,omitempty"`    // executions of the cell after an interrupt
	Run        string `json:"run"`
	Step       string `json:"step"`
	Token      string `json:"token"`
}

// Gyoshu marks a cell as one of Gyoshu's research.
type Gyoshu struct {
	AutoCaptured bool   `json:"autoCaptured"`
	LastUpdated  string `json:"lastUpdated"`
	Type         string `json:"type"`
}

// ResearchCell returns what Gyoshu writes about a cell whose outputs it captured.
func ResearchCell(updated time.Time) *Gyoshu {
	return &Gyoshu{Type: "research", LastUpdated: updated.UTC().Format("2006-01-02T15:04:05.000Z"), AutoCaptured: true}
}

// Execution returns the times for a cell's metadata, nil if none is known.
func (t Times) Execution() *Execution {
	if t == (Times{}) {
		return nil
	}
	return &Execution{Busy: jupyterTime(t.Busy), Started: jupyterTime(t.Started), Reply: jupyterTime(t.Reply), Idle: jupyterTime(t.Idle)}
}

// Papermill returns what papermill would write about the execution. failed is nil while the cell runs.
func (t Times) Papermill(failed *bool) *Papermill {
	start, end := t.Started, t.Reply
	if start.IsZero() {
		start = t.Busy
	}
	if end.IsZero() {
		end = t.Idle
	}
	p := &Papermill{Start: papermillTime(start), Status: Running, Exception: failed}
	if failed == nil {
		return p
	}
	p.Status = Completed
	if *failed {
		p.Status = Broken
	}
	p.End = papermillTime(end)
	if !start.IsZero() && !end.IsZero() {
		seconds := end.Sub(start).Seconds()
		p.Duration = &seconds
	}
	return p
}

func jupyterTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000000Z")
}

// papermillTime formats a time as papermill does, in UTC; nil if it is unknown.
func papermillTime(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	text := t.UTC().Format("2006-01-02T15:04:05.000000")
	return &text
}
