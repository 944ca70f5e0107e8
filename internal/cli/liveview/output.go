package liveview

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/cli/layout"
	"pawl/internal/disk"
	"pawl/internal/redact"
)

// OutputMode says what a view shows of the output of steps.
type OutputMode string

// The modes. The default is fold on a terminal, and none in a pipe.
const (
	OutputStream OutputMode = "stream" // every line, after the name of its step
	OutputFold   OutputMode = "fold"   // the last lines of running steps, redrawn in place
	OutputNone   OutputMode = "none"
)

// Set sets the mode.
func (m *OutputMode) Set(text string) error {
	switch mode := OutputMode(text); mode {
	case OutputStream, OutputFold, OutputNone:
		*m = mode
		return nil
	}
	return fmt.Errorf("unknown mode %q; expected stream, fold or none", text)
}

// String returns the mode.
func (m *OutputMode) String() string { return string(*m) }

// Type is what help prints as the name of the value.
func (m *OutputMode) Type() string { return "MODE" }

// Limits of what is kept and read of an attempt's output.
const (
	maxFolded = 3       // lines
	foldBytes = 8 << 10 // bytes at the end of a file
)

// outputs reads what live attempts print.
type outputs struct {
	mode    OutputMode
	dirOf   func(pawl.AttemptRef) string
	print   func(pawl.AttemptRef, string)
	command [2]io.Writer // where output and errors of a run of one command go, unchanged
	live    []*attemptOutput
}

func newOutputs(mode OutputMode, print func(pawl.AttemptRef, string)) *outputs {
	return &outputs{mode: mode, print: print}
}

// copyTo makes the output of attempts go to out and err, unchanged.
func (o *outputs) copyTo(out, err io.Writer) {
	if o.mode == OutputFold {
		o.mode = OutputStream
	}
	o.command = [2]io.Writer{out, err}
}

// follow reads the output of these attempts from now on, and the rest of that of others. inProgress reports whether they have been
// running for a while: then it starts near the end of their output.
func (o *outputs) follow(live []*pawl.AttemptState, inProgress bool) {
	if o.mode == OutputNone && o.command[0] == nil {
		return
	}
	o.live = slices.DeleteFunc(o.live, func(a *attemptOutput) bool {
		ended := !slices.ContainsFunc(live, func(l *pawl.AttemptState) bool { return l.Token == a.ref.Token })
		if ended {
			a.read(o.mode == OutputFold)
			a.flush()
		}
		return ended
	})
	for _, l := range live {
		if !slices.ContainsFunc(o.live, func(a *attemptOutput) bool { return a.ref.Token == l.Token }) {
			o.live = append(o.live, o.open(l.AttemptRef, inProgress && o.command[0] == nil))
		}
	}
}

// poll reads what has been printed since the last call.
func (o *outputs) poll() {
	for _, a := range o.live {
		a.read(o.mode == OutputFold)
	}
}

// last returns the last n lines that an attempt has printed.
func (o *outputs) last(token pawl.Token, n int) []string {
	for _, a := range o.live {
		if a.ref.Token == token && o.mode == OutputFold {
			return a.last(n)
		}
	}
	return nil
}

// attemptOutput is the output of one attempt.
type attemptOutput struct {
	ref   pawl.AttemptRef
	files []*tail
	lines []string // the last ones; the oldest first

	unended bool // the last line may still be overwritten
}

func (o *outputs) open(ref pawl.AttemptRef, fromEnd bool) *attemptOutput {
	a := &attemptOutput{ref: ref}
	for i, name := range []string{pawl.OutFile, pawl.ErrFile} {
		t := &tail{path: filepath.Join(o.dirOf(ref), name), skip: fromEnd}
		if t.to = o.command[i]; t.to == nil {
			t.clean = redact.OfProcess().Writer(&lineWriter{line: func(text string, ended bool) { o.add(a, text, ended) }})
			t.to = t.clean
		}
		a.files = append(a.files, t)
	}
	return a
}

// add adds a line to the output of an attempt. A line that has not ended is the last one until it ends.
func (o *outputs) add(a *attemptOutput, text string, ended bool) {
	if o.mode == OutputStream {
		if ended {
			o.print(a.ref, layout.Printable(text))
		}
		return
	}
	if a.unended {
		a.lines = a.lines[:len(a.lines)-1]
	}
	a.unended = false
	if text = strings.TrimSpace(layout.Printable(text)); text != "" {
		a.lines, a.unended = append(a.lines, text), !ended
		a.lines = a.lines[max(0, len(a.lines)-maxFolded):]
	}
}

func (a *attemptOutput) read(fold bool) {
	for _, t := range a.files {
		t.copyNew(fold)
	}
}

func (a *attemptOutput) flush() {
	for _, t := range a.files {
		if t.clean != nil {
			_ = t.clean.Flush() // a lineWriter never fails
			_, _ = io.WriteString(t.clean, "\n")
		}
	}
}

func (a *attemptOutput) last(n int) []string { return a.lines[max(0, len(a.lines)-n):] }

// tail copies a growing file.
type tail struct {
	path   string
	offset int64
	to     io.Writer
	clean  *redact.Writer // to, if it redacts
	skip   bool           // start near the end
}

// copyNew copies what was added to the file since the last call. With fold it skips all but the end of it.
func (t *tail) copyNew(fold bool) {
	f, err := disk.Open(t.path)
	if err != nil {
		return // not created yet
	}
	defer f.Close()
	if info, err := f.Stat(); (fold || t.skip) && err == nil {
		t.offset = max(t.offset, info.Size()-foldBytes)
	}
	t.skip = false
	n, _ := io.Copy(withoutNUL{t.to}, io.NewSectionReader(f, t.offset, 1<<62)) // whoever reads our output may be gone
	t.offset += n
}

// withoutNUL drops NUL bytes, which fill the hole where output was dropped.
type withoutNUL struct{ to io.Writer }

func (w withoutNUL) Write(data []byte) (int, error) {
	if _, err := w.to.Write(layout.WithoutNUL(slices.Clone(data))); err != nil {
		return 0, err
	}
	return len(data), nil
}

// maxLine is the length at which a line is cut, in bytes.
const maxLine = 4 << 10

// lineWriter calls a function with each line. Of a line that is overwritten, as progress bars do with carriage returns, it passes on the
// last state.
type lineWriter struct {
	line func(text string, ended bool)
	held []byte
}

func (w *lineWriter) Write(data []byte) (int, error) {
	for _, c := range data {
		switch {
		case c == '\n':
			w.pass(true)
			w.held = w.held[:0]
		case c == '\r' && len(w.held) >= maxLine:
			w.held = w.held[:0]
		case len(w.held) < maxLine:
			w.held = append(w.held, c)
		}
	}
	if n := len(w.held); n > 0 && w.held[n-1] == '\r' {
		w.pass(false)
	}
	return len(data), nil
}

func (w *lineWriter) pass(ended bool) {
	text := strings.TrimRight(string(w.held), "\r")
	text = text[strings.LastIndexByte(text, '\r')+1:]
	if text != "" {
		w.line(text, ended)
	}
}
