// Package events writes what a program of pawl within a step reports to the engine: lines of the attempt's events file, and its result.
package events

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"pawl"
	"pawl/internal/disk"
)

// Writer appends lines without secrets to the attempt's events file. It prints errors and continues.
type Writer struct {
	Path   string
	Clean  func(string) string // removes secrets from a text
	Errors io.Writer
}

// Progress appends progress.
func (w Writer) Progress(p pawl.Progress) {
	p.Text = w.Clean(p.Text)
	w.Write(pawl.Line{Progress: &p})
}

// Write appends a line and syncs it.
func (w Writer) Write(line pawl.Line) {
	data, err := json.Marshal(line)
	if err == nil {
		err = disk.AppendLine(w.Path, data)
	}
	if err != nil {
		fmt.Fprintf(w.Errors, "pawl: events: %v\n", err)
	}
}

// Merged combines the result that the work of a step wrote itself with the one that pawl found. Its own counts, unless it claims success for a
// failed attempt.
func Merged(own, r pawl.Result) pawl.Result {
	switch own.Status {
	case pawl.ResultWaiting, pawl.ResultBlocked:
		return own
	}
	if r.Status == pawl.ResultDone {
		return own
	}
	r.Items, r.Memory = own.Items, own.Memory
	return r
}

// ReadResult returns the result that the work has written itself, with `pawl ask` or directly.
func ReadResult(path string) (pawl.Result, bool) {
	file, err := disk.Open(path)
	if err != nil {
		return pawl.Result{}, false
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, 1<<20))
	if err != nil {
		return pawl.Result{}, false
	}
	r, err := pawl.ParseResult(data)
	return r, err == nil
}

// WriteResult writes the result of the attempt.
func WriteResult(path string, r pawl.Result) error {
	data, err := json.Marshal(r)
	if err == nil {
		err = disk.Replace(path, data)
	}
	if err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	return nil
}

// ParseLine parses one line of an events file.
func ParseLine(data []byte) (pawl.Line, error) {
	var l pawl.Line
	if err := json.Unmarshal(data, &l); err != nil {
		return pawl.Line{}, err
	}
	set := 0
	for _, given := range []bool{
		l.Progress != nil, l.Item != nil, l.Learn != nil, l.Decide != nil, l.Block != nil, l.Ask != nil, l.Checkpoint != nil,
		l.Conversation != nil,
	} {
		if given {
			set++
		}
	}
	if set != 1 {
		return pawl.Line{}, errors.New("a line has exactly one of progress, item, learn, decide, block, ask, checkpoint, conversation")
	}
	return l, nil
}
