package agent

import (
	"fmt"
	"io"
	"os"
	"strings"

	"pawl"
	"pawl/internal/executor/events"
)

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
	if own, ok := events.ReadResult(path); ok {
		r = events.Merged(own, r)
	}
	r.Usage = a.used
	r.Summary = a.screen.clean(r.Summary)
	for i := range r.Blockers {
		r.Blockers[i] = a.screen.clean(r.Blockers[i])
	}
	if r.Status != pawl.ResultDone {
		fmt.Fprintf(a.Err, "pawl: agent: %s\n", r.Summary)
	}
	return r.Status, events.WriteResult(path, r)
}
