package agent

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"pawl"
	"pawl/internal/disk"
)

// teller appends to the attempt's events file, without secrets. That it cannot is no fault of the agent's, who goes on.
type teller struct {
	path   string
	clean  func(string) string
	faults io.Writer
}

func (t teller) progress(p pawl.Progress) {
	p.Text = t.clean(p.Text)
	t.tell(pawl.Line{Progress: &p})
}

// tell appends a line, and waits for the disk.
func (t teller) tell(line pawl.Line) {
	data, err := json.Marshal(line)
	if err == nil {
		err = disk.AppendLine(t.path, data)
	}
	if err != nil {
		fmt.Fprintf(t.faults, "pawl: agent: %v\n", err)
	}
}

// screen is what people see of the agent: its words and what it does, line by line, without secrets.
type screen struct {
	to    io.Writer
	clean func(string) string
	begun string // of a line that is not ended yet
}

// words shows whole lines.
func (s *screen) words(text string) {
	s.flush()
	fmt.Fprintln(s.to, s.clean(text))
}

// part shows what goes on where the last part ended, as soon as its line is whole.
func (s *screen) part(text string) {
	s.begun += text
	if end := strings.LastIndexByte(s.begun, '\n'); end >= 0 {
		fmt.Fprintln(s.to, s.clean(s.begun[:end]))
		s.begun = s.begun[end+1:]
	}
	if len(s.begun) > maxLine {
		s.flush()
	}
}

// flush ends a line that has begun.
func (s *screen) flush() {
	if s.begun != "" {
		fmt.Fprintln(s.to, s.clean(s.begun))
		s.begun = ""
	}
}

// error shows a line of the agent's error output.
func (s *screen) error(to io.Writer, line []byte) { fmt.Fprintln(to, s.clean(string(line))) }

// finish writes down how the attempt says that it ended, and returns that. What the agent has said of it itself counts
// where it does not claim more than came out.
func (a *attempt) finish(r pawl.Result) (pawl.ResultStatus, error) {
	path := os.Getenv("PAWL_RESULT")
	if own, ok := ownResult(path); ok {
		r = merged(own, r)
	}
	r.Usage = a.used
	r.Summary = a.screen.clean(r.Summary)
	for i := range r.Blockers {
		r.Blockers[i] = a.screen.clean(r.Blockers[i])
	}
	if r.Status != pawl.ResultDone {
		fmt.Fprintf(a.Err, "pawl: agent: %s\n", r.Summary)
	}
	data, err := json.Marshal(r)
	if err == nil {
		err = disk.Replace(path, data)
	}
	if err != nil {
		return "", fmt.Errorf("write the result: %w", err)
	}
	return r.Status, nil
}

// merged returns what an agent says of itself, unless it claims to be done, or says nothing more, where it failed.
func merged(own, r pawl.Result) pawl.Result {
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

// ownResult returns the result that the agent itself has written, by `pawl ask` or by hand.
func ownResult(path string) (pawl.Result, bool) {
	file, err := disk.OpenRegular(path)
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
