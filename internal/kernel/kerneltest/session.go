package kerneltest

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pawl/internal/kernel"
	"pawl/internal/supervise/process"
)

// Patience is how long tests wait for what must happen. The machine may be busy.
const Patience = 10 * time.Minute

// PythonPath is the interpreter with ipykernel and jupyter_server that tests use.
func PythonPath() string { return cmp.Or(os.Getenv("PAWL_TEST_PYTHON"), "/usr/bin/python3") }

// Session is a kernel under test, and what it reported.
type Session struct {
	kernel.Kernel

	mu       sync.Mutex // guards the rest; the test reads t without it
	t        testing.TB
	messages []kernel.Message
	changed  chan struct{} // closed when a message comes
	pause    time.Duration // how long emit takes for the first output
	emitting bool
}

// Start starts a kernel that is closed when the test ends.
func Start(t testing.TB, driver kernel.Driver, spec kernel.Spec) *Session {
	t.Helper()
	s, err := TryStart(t, driver, spec)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TryStart is Start for a kernel that may not start.
func TryStart(t testing.TB, driver kernel.Driver, spec kernel.Spec) (*Session, error) {
	t.Helper()
	s := &Session{t: t, changed: make(chan struct{})}
	var err error
	if s.Kernel, err = driver.Start(t.Context(), spec, s.emit); err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		if err := s.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s, nil
}

func (s *Session) emit(m kernel.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.emitting {
		s.t.Error("emit is called twice at a time")
	}
	if s.pause > 0 && (m.Kind == kernel.KindStream || m.Kind == kernel.KindDisplay) {
		s.emitting = true
		s.mu.Unlock()
		<-time.After(s.pause)
		s.mu.Lock()
		s.emitting, s.pause = false, 0
	}
	s.messages = append(s.messages, m)
	close(s.changed)
	s.changed = make(chan struct{})
}

// Messages returns the messages so far.
func (s *Session) Messages() []kernel.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.messages)
}

// Of returns the messages of a cell so far.
func (s *Session) Of(id kernel.CellID) []kernel.Message {
	return slices.DeleteFunc(s.Messages(), func(m kernel.Message) bool { return m.Cell != id })
}

// Output returns what a cell has printed to both streams.
func (s *Session) Output(id kernel.CellID) string {
	messages := s.Of(id)
	for i := range messages {
		messages[i].Stream = kernel.Stdout
	}
	return text(messages, kernel.Stdout)
}

// Last returns the last message of a kind.
func (s *Session) Last(kind kernel.Kind) kernel.Message {
	s.t.Helper()
	for _, m := range slices.Backward(s.Messages()) {
		if m.Kind == kind {
			return m
		}
	}
	s.t.Fatalf("no message %s; there are %s", kind, describe(s.Messages()))
	return kernel.Message{}
}

// Await waits for a message. It shows each message to is once.
func (s *Session) Await(what string, is func(kernel.Message) bool) {
	s.t.Helper()
	deadline := time.After(Patience)
	for seen := 0; ; {
		s.mu.Lock()
		found, changed := slices.ContainsFunc(s.messages[seen:], is), s.changed
		seen = len(s.messages)
		s.mu.Unlock()
		if found {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			s.t.Fatalf("no message: %s; there are %s", what, describe(s.Messages()))
		}
	}
}

// AwaitOutput waits until a cell has printed a text.
func (s *Session) AwaitOutput(id kernel.CellID, text string) {
	s.t.Helper()
	var seen strings.Builder
	s.Await("output "+text, func(m kernel.Message) bool {
		if m.Kind == kernel.KindStream && m.Cell == id {
			seen.WriteString(m.Text)
		}
		return strings.Contains(seen.String(), text)
	})
}

// Begin executes a cell in the background.
func (s *Session) Begin(id kernel.CellID, code string) <-chan kernel.Ending {
	t, ended := s.t, make(chan kernel.Ending, 1)
	go func() {
		ending, err := s.Execute(t.Context(), kernel.Cell{ID: id, Code: code})
		if err != nil && t.Context().Err() == nil {
			t.Errorf("execute %s: %v", code, err)
		}
		ended <- ending
	}()
	return ended
}

// End waits for the end of a cell.
func (s *Session) End(ended <-chan kernel.Ending) kernel.Ending {
	s.t.Helper()
	select {
	case ending := <-ended:
		return ending
	case <-time.After(Patience):
		s.t.Fatalf("the cell does not end; there are %s", describe(s.Messages()))
		return kernel.Ending{}
	}
}

// Cell executes a cell.
func (s *Session) Cell(id kernel.CellID, code string) kernel.Ending {
	s.t.Helper()
	return s.End(s.Begin(id, code))
}

// Run executes a cell, and checks how it ends.
func (s *Session) Run(id kernel.CellID, code string, want kernel.Status) kernel.Ending {
	s.t.Helper()
	ending := s.Cell(id, code)
	if ending.Status != want {
		s.t.Fatalf("cell %s ended as %+v, error %+v, want %s; output: %q", id, ending, ending.Error, want, s.Output(id))
	}
	return ending
}

// Retry calls is until it returns true.
func Retry(t testing.TB, is func() bool) {
	t.Helper()
	tick, limit := time.NewTicker(5*time.Millisecond), time.After(Patience)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatal("it never happened")
		}
	}
}

// Gone reports whether a process has ended.
func Gone(pid int) bool {
	stat, err := process.Of(pid)
	return err != nil || stat.Dead
}

// text returns what a stream got.
func text(messages []kernel.Message, stream kernel.Stream) string {
	var b strings.Builder
	for _, m := range messages {
		if m.Kind == kernel.KindStream && m.Stream == stream {
			b.WriteString(m.Text)
		}
	}
	return b.String()
}

// plain returns the text of a display.
func plain(t testing.TB, m kernel.Message) string {
	t.Helper()
	var text string
	if err := json.Unmarshal(m.Data["text/plain"], &text); err != nil {
		t.Fatalf("text/plain of %s: %v", describe([]kernel.Message{m}), err)
	}
	return text
}

// describe prints the last messages for an error.
func describe(messages []kernel.Message) string {
	const enough = 20
	var b strings.Builder
	for _, m := range messages[max(0, len(messages)-enough):] {
		m.Text = m.Text[:min(len(m.Text), 200)]
		data, err := json.Marshal(m)
		if err != nil {
			return err.Error()
		}
		b.WriteString("\n\t")
		b.Write(data[:min(len(data), 500)])
	}
	return b.String()
}
