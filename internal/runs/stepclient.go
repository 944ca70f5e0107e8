package runs

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/executor/events"
)

// StepClient is the attempt that the current process belongs to, as its environment says.
type StepClient struct {
	Project string // the project's root
	Run     pawl.RunID
	Attempt pawl.AttemptRef

	events, result string // file paths
}

// StepClientOf returns the attempt that the environment names, nil for none.
func StepClientOf(getenv func(string) string) *StepClient {
	events, result := getenv("PAWL_EVENTS"), getenv("PAWL_RESULT")
	if !isAttemptFile(events, pawl.EventsFile) { // a variable that came with the files could name any file of the user's
		return nil
	}
	if !isAttemptFile(result, pawl.ResultFile) || filepath.Dir(result) != filepath.Dir(events) {
		result = ""
	}
	number, _ := strconv.Atoi(getenv("PAWL_ATTEMPT")) // 0 if the variable was removed
	return &StepClient{
		Project: getenv("PAWL_PROJECT"), Run: pawl.RunID(getenv("PAWL_RUN")), events: events, result: result,
		Attempt: pawl.AttemptRef{
			Step: pawl.StepID(getenv("PAWL_STEP")), Item: pawl.ItemID(getenv("PAWL_ITEM_ID")), Attempt: number, Token: pawl.Token(getenv("PAWL_TOKEN")),
		},
	}
}

// isAttemptFile reports whether a path is that of a file in the folder of an attempt, ROOT/.pawl/runs/RUN/steps/STEP[/ITEM]/ATTEMPT. From
// .pawl on, pawl follows no links.
func isAttemptFile(path, name string) bool {
	root, below, ok := strings.Cut(path, "/"+disk.Guarded+"/runs/")
	parts := strings.Split(below, "/")
	return ok && filepath.IsAbs(root+"/") && filepath.Clean(path) == path && (len(parts) == 5 || len(parts) == 6) && parts[1] == "steps" && parts[len(parts)-1] == name
}

// Report appends a line to the attempt's events file. The engine journals it, now or when it next runs.
func (i *StepClient) Report(line pawl.Line) error {
	data, err := json.Marshal(line)
	if err != nil {
		return err
	}
	if len(data) > MaxEventLine {
		return UsageError("", "%d bytes, the maximum is %d; write long content to a file and report its name", len(data), MaxEventLine)
	}
	return disk.AppendLine(i.events, data)
}

// Items returns the items that the attempt has reported, including those not journaled yet.
func (i *StepClient) Items() (items []pawl.ItemNamed) {
	for _, line := range i.lines() {
		if line.Item != nil {
			items = append(items, *line.Item)
		}
	}
	return items
}

// Memories returns the notes that the attempt has reported.
func (i *StepClient) Memories() (memories []pawl.Memory) {
	for _, line := range i.lines() {
		if line.Learn != nil {
			memories = append(memories, *line.Learn)
		}
	}
	return memories
}

// lines returns the lines of the attempt's events file.
func (i *StepClient) lines() []pawl.Line {
	data, err := disk.ReadFile(i.events, disk.ViewLimit)
	if err != nil {
		return nil // nothing was reported
	}
	return linesIn(data)
}

func linesIn(data []byte) (lines []pawl.Line) {
	for text := range bytes.Lines(data) {
		if line, err := events.ParseLine(text); err == nil {
			lines = append(lines, line)
		}
	}
	return lines
}

// OpenGate opens a gate for the step or its item, and returns it.
func (i *StepClient) OpenGate(action pawl.GateAction) (pawl.Gate, error) {
	return action.Gate(i.Attempt.Step, i.Attempt.Item, time.Now()), i.Report(pawl.Line{Ask: &action})
}

// MarkWaiting records in the result file that the attempt ends to wait for an answer. A new attempt continues after the
// answer.
func (i *StepClient) MarkWaiting(action pawl.GateAction) error {
	data, err := waitingResult(action)
	if err != nil {
		return err
	}
	if i.result == "" {
		return UsageError("", "PAWL_RESULT is not set, so the engine cannot be told that this step is waiting")
	}
	return i.writeResult(data)
}

// writeResult writes the result file. A step that runs as another user than pawl cannot replace the file, only write it.
func (i *StepClient) writeResult(data []byte) error {
	err := disk.Replace(i.result, data)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	file, err := disk.OpenWritable(i.result)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err = file.WriteAt(data, 0)
	return err
}

// ClearWaiting undoes MarkWaiting if the result file still says so.
func (i *StepClient) ClearWaiting(action pawl.GateAction) error {
	data, err := waitingResult(action)
	if err != nil {
		return err
	}
	if said, err := disk.ReadFile(i.result, disk.RecordLimit); err != nil || !bytes.Equal(said, data) {
		return nil
	}
	if err := disk.Remove(i.result); !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return i.writeResult(nil)
}

// waitingResult returns the result of an attempt that waits for an answer.
func waitingResult(action pawl.GateAction) ([]byte, error) {
	return json.Marshal(pawl.Result{Status: pawl.ResultWaiting, Gate: &action, Summary: "waits for: " + action.Ask})
}

// MaxEventLine is the maximum length of a line in the events file, in bytes.
const MaxEventLine = 16 << 10
