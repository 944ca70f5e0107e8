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

// eventWriter appends lines without secrets to the attempt's events file. It logs errors and continues.
type eventWriter struct {
	path   string
	clean  func(string) string
	errors io.Writer
}

func (w eventWriter) progress(p pawl.Progress) {
	p.Text = w.clean(p.Text)
	w.write(pawl.Line{Progress: &p})
}

// write appends a line and syncs it.
func (w eventWriter) write(line pawl.Line) {
	data, err := json.Marshal(line)
	if err == nil {
		err = disk.AppendLine(w.path, data)
	}
	if err != nil {
		fmt.Fprintf(w.errors, "pawl: agent: %v\n", err)
	}
}

// screen prints the agent's messages and activity for people, line by line, without secrets.
type screen struct {
	to      io.Writer
	clean   func(string) string
	partial string // the start of an unfinished line
}

// print prints whole lines.
func (s *screen) print(text string) {
	s.flush()
	fmt.Fprintln(s.to, s.clean(text))
}

// part continues the unfinished line, and prints the lines that are complete.
func (s *screen) part(text string) {
	s.partial += text
	if end := strings.LastIndexByte(s.partial, '\n'); end >= 0 {
		fmt.Fprintln(s.to, s.clean(s.partial[:end]))
		s.partial = s.partial[end+1:]
	}
	if len(s.partial) > maxLine {
		s.flush()
	}
}

// flush prints the unfinished line.
func (s *screen) flush() {
	if s.partial != "" {
		fmt.Fprintln(s.to, s.clean(s.partial))
		s.partial = ""
	}
}

// error prints a line of the agent's error output.
func (s *screen) error(to io.Writer, line []byte) { fmt.Fprintln(to, s.clean(string(line))) }

// finish writes the attempt's result and returns its status. A result that the agent has written itself takes precedence,
// unless it claims success for a failed attempt.
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

// merged combines the agent's own result with the runner's. The agent's counts, unless it claims success for a failed attempt.
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

// ownResult returns the result that the agent has written itself, with `pawl ask` or directly.
func ownResult(path string) (pawl.Result, bool) {
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
