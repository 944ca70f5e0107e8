// Package eventstream prints the events of a run as JSON lines while an engine works on it, and the outcome as the last line.
//
// It reads the events from the journal, so it prints only durable ones, in order and without gaps, and a slow reader costs no memory.
// It never blocks the engine. When the reader is gone, the stream ends and the run continues.
package eventstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"pawl"
	"pawl/internal/cli/failure"
	"pawl/internal/cli/hints"
	"pawl/internal/cli/layout"
	"pawl/internal/journal"
	"pawl/internal/project"
	"pawl/internal/redact"
)

// Outcome says how a command that worked on a run ended.
type Outcome struct {
	Run      pawl.RunID          `json:"run"`
	Status   pawl.RunStatus      `json:"status"`
	ExitCode int                 `json:"exit_code"`
	Percent  int                 `json:"progress_percent"`
	Elapsed  float64             `json:"elapsed_seconds"` // since the run was created
	Running  float64             `json:"running_seconds"` // time of all attempts
	Gates    []layout.GateReport `json:"gates"`           // open ones
	Error    *failure.Error      `json:"error,omitempty"`
}

// Last is the last line of a stream.
type Last struct {
	Outcome Outcome `json:"outcome"`
}

// Stream prints the events of one run.
type Stream struct {
	out     io.Writer
	errOut  io.Writer
	project *project.Project
	last    pawl.Seq     // of the last event that was printed
	log     *journal.Log // nil before Begin
	wake    chan struct{}
	stop    chan struct{}
	done    chan struct{}
	err     error // of out; once there is one, nothing is printed
}

// New returns a stream that prints the events after seq to out, and notices to errOut.
func New(out, errOut io.Writer, p *project.Project, after pawl.Seq) *Stream {
	return &Stream{
		out: out, errOut: errOut, project: p, last: after,
		wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
	}
}

// SurviveClosedReaders makes writing to a closed pipe an error, instead of the end of this process. Processes that it starts are
// not affected.
func SurviveClosedReaders() (release func()) {
	ignored := make(chan os.Signal, 1)
	signal.Notify(ignored, syscall.SIGPIPE)
	return func() { signal.Stop(ignored) }
}

// Begin starts the stream.
func (s *Stream) Begin(run pawl.RunID) error {
	log, err := journal.Open(s.project.Runs(), run)
	if err != nil {
		return err
	}
	s.log = log
	go s.run()
	return nil
}

func (s *Stream) run() {
	defer close(s.done)
	for {
		s.copy()
		select {
		case <-s.wake:
		case <-s.stop:
			s.copy()
			return
		}
	}
}

// Notify says that the journal has a new event. It never blocks.
func (s *Stream) Notify(pawl.Event) {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Notice prints a line for people.
func (s *Stream) Notice(text string) { fmt.Fprintf(s.errOut, "pawl: %s\n", layout.OneLine(text)) }

// copy prints the new events.
func (s *Stream) copy() {
	for e, err := range s.log.Events(s.last) {
		if err != nil || s.err != nil {
			return // the engine reports damage
		}
		e.Data = redact.OfProcess().JSON(e.Data)
		s.print(e)
		s.last = e.Seq
	}
}

// print prints a line. After the first error it does nothing.
func (s *Stream) print(line any) {
	if s.err != nil {
		return
	}
	enc := json.NewEncoder(s.out)
	enc.SetEscapeHTML(false)
	if s.err = enc.Encode(line); s.err != nil {
		s.Notice("note: cannot write to standard output: " + reason(s.err) + "; the run continues without it")
	}
}

func reason(err error) string {
	if errors.Is(err, syscall.EPIPE) {
		return "its reader has closed it"
	}
	return err.Error()
}

// End prints the remaining events, and how the command ends. It waits for a slow reader, so the engine should be closed before.
func (s *Stream) End(ctx context.Context, state *pawl.State, plan *pawl.Plan, err error) {
	if s.log == nil {
		return
	}
	close(s.stop)
	<-s.done
	_ = s.log.Close() // it was only read
	o := Outcome{
		Run: state.Run, Status: state.StatusNow(false), ExitCode: failure.ExitCode(err), Percent: state.Percent(plan),
		Elapsed: state.Updated.Sub(state.Created).Seconds(), Running: state.Spent.Seconds, Gates: []layout.GateReport{},
	}
	onRun := hints.Namer(ctx, s.project, state.Run)
	for _, g := range state.OpenGates() {
		o.Gates = append(o.Gates, layout.GateReportOf(plan, state, g).With(onRun))
	}
	if err != nil {
		e := failure.Of(err)
		o.Error = &e
	}
	s.print(Last{Outcome: o})
}
