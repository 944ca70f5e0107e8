package runs

import (
	"bytes"
	"encoding/json"
	"os"
	"strconv"
	"time"

	"pawl"
	"pawl/internal/disk"
)

// StepClient is an attempt as the processes know it that belong to it: by their environment.
type StepClient struct {
	Project string // the project's root
	Run     pawl.RunID
	Attempt pawl.AttemptRef

	events, result string // files
}

// StepClientOf returns the attempt that a process with these variables belongs to, nil where it belongs to none.
func StepClientOf(getenv func(string) string) *StepClient {
	events := getenv("PAWL_EVENTS")
	if events == "" {
		return nil
	}
	number, _ := strconv.Atoi(getenv("PAWL_ATTEMPT")) // 0: somebody took it out of the environment
	return &StepClient{
		Project: getenv("PAWL_PROJECT"), Run: pawl.RunID(getenv("PAWL_RUN")), events: events, result: getenv("PAWL_RESULT"),
		Attempt: pawl.AttemptRef{
			Step: pawl.StepID(getenv("PAWL_STEP")), Item: pawl.ItemID(getenv("PAWL_ITEM_ID")), Attempt: number, Token: pawl.Token(getenv("PAWL_TOKEN")),
		},
	}
}

// Report appends a line to the attempt's events file. The engine journals it, now or when it is back.
func (i *StepClient) Report(line pawl.Line) error {
	data, err := json.Marshal(line)
	if err != nil {
		return err
	}
	if len(data) > MaxEventLine {
		return UsageError("", "that is %d bytes; at most %d are taken: put what is long into a file, and name it", len(data), MaxEventLine)
	}
	return disk.AppendLine(i.events, data)
}

// Items returns the items that the attempt has reported. The engine may not have journaled all of them yet.
func (i *StepClient) Items() []pawl.ItemNamed {
	data, err := os.ReadFile(i.events)
	if err != nil {
		return nil // nothing was told
	}
	var items []pawl.ItemNamed
	for text := range bytes.Lines(data) {
		if line, err := pawl.ParseLine(text); err == nil && line.Item != nil {
			items = append(items, *line.Item)
		}
	}
	return items
}

// OpenGate opens a gate for the step, or for its item, and returns the gate.
func (i *StepClient) OpenGate(action pawl.GateAction) (pawl.Gate, error) {
	return action.Gate(i.Attempt.Step, i.Attempt.Item, time.Now()), i.Report(pawl.Line{Ask: &action})
}

// MarkWaiting notes in the attempt's result that it ends to wait for an answer. The work goes on in a new attempt.
func (i *StepClient) MarkWaiting(action pawl.GateAction) error {
	data, err := waitingResult(action)
	if err != nil {
		return err
	}
	if i.result == "" {
		return UsageError("", "PAWL_RESULT is not set: nobody learns that this waits for an answer")
	}
	return disk.Replace(i.result, data)
}

// ClearWaiting takes Wait back, where that is what the result still says: the answer is there.
func (i *StepClient) ClearWaiting(action pawl.GateAction) error {
	data, err := waitingResult(action)
	if err != nil {
		return err
	}
	if said, err := os.ReadFile(i.result); err != nil || !bytes.Equal(said, data) {
		return nil
	}
	return disk.Remove(i.result)
}

// waitingResult is the result of an attempt that waits for an answer.
func waitingResult(action pawl.GateAction) ([]byte, error) {
	return json.Marshal(pawl.Result{Status: pawl.ResultWaiting, Gate: &action, Summary: "waits for: " + action.Ask})
}

// MaxEventLine is how long a line of the events file may be.
const MaxEventLine = 16 << 10
