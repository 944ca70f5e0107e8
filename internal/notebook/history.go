package notebook

import (
	"encoding/json"
	"time"
)

// Executed is what a cell's metadata says about its last execution.
type Executed struct {
	Index      int // of the cell
	Status     ExecutionStatus
	Started    time.Time     // zero: unknown
	Duration   time.Duration // 0: unknown
	Attempts   int           // 0: unknown
	Interrupts int           // executions that did not come to an end
	Resumes    int           // executions after an interrupt
	Pawl       Pawl          // zero: pawl did not execute it
}

// ExecutionStatus is how far the execution of a cell is.
type ExecutionStatus string

// How far an execution is.
const (
	NotExecuted ExecutionStatus = "not_executed"
	Executing   ExecutionStatus = "executing" // or it was when the notebook was last written
	Done        ExecutionStatus = "done"
	Failed      ExecutionStatus = "failed"
	Skipped     ExecutionStatus = "skipped" // it has no code, or the tag to be skipped
)

// History returns what the metadata of the code cells says about their last executions: that of pawl, papermill, nbclient and
// Jupyter. A cell has also failed if its outputs have an error.
func (n *Notebook) History() []Executed {
	var history []Executed
	for i := range n.Cells {
		if c := &n.Cells[i]; c.Type == Code {
			history = append(history, c.executed(i))
		}
	}
	return history
}

func (c *Cell) executed(index int) Executed {
	x := Executed{Index: index}
	var meta struct {
		Execution Execution
		Papermill struct {
			Duration  float64         `json:"duration"`
			Exception bool            `json:"exception"`
			Start     string          `json:"start_time"`
			Status    PapermillStatus `json:"status"`
		}
	}
	decode(c.Metadata("execution"), &meta.Execution)
	decode(c.Metadata("papermill"), &meta.Papermill)
	decode(c.Metadata("pawl"), &x.Pawl)
	x.Attempts, x.Interrupts, x.Resumes = x.Pawl.Attempt, x.Pawl.Interrupts, x.Pawl.Resumes
	x.Started = firstTime(meta.Papermill.Start, meta.Execution.Started, meta.Execution.Busy)
	x.Duration = time.Duration(meta.Papermill.Duration * float64(time.Second))
	if ended := firstTime(meta.Execution.Reply, meta.Execution.Idle); x.Duration == 0 && !ended.IsZero() && !x.Started.IsZero() {
		x.Duration = ended.Sub(x.Started)
	}
	x.Duration = max(0, x.Duration)
	switch {
	case !c.Executes():
		x.Status = Skipped
	case meta.Papermill.Status == Running:
		x.Status = Executing
	case meta.Papermill.Status == Broken || meta.Papermill.Exception || c.raised():
		x.Status = Failed
	case meta.Papermill.Status == Completed || c.Count > 0 || !x.Started.IsZero():
		x.Status = Done
	default:
		x.Status = NotExecuted
	}
	return x
}

// decode decodes metadata that anybody may have written. Values of the wrong type are left out.
func decode(text []byte, into any) {
	if text != nil {
		_ = json.Unmarshal(text, into)
	}
}

// raised reports whether the outputs of a cell have an error.
func (c *Cell) raised() bool {
	outputs := c.json.Get("outputs")
	if outputs == nil {
		return false
	}
	for _, o := range outputs.Items {
		if OutputType(o.Get("output_type").Text()) == Failure {
			return true
		}
	}
	return false
}

// firstTime returns the first of these times that is one. papermill writes no zone, and means UTC.
func firstTime(texts ...string) time.Time {
	for _, text := range texts {
		for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999"} {
			if at, err := time.Parse(layout, text); err == nil {
				return at
			}
		}
	}
	return time.Time{}
}
