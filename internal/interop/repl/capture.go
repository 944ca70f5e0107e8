package repl

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/interop/format/gyoshu"
	"pawl/internal/kernel"
	"pawl/internal/kernel/runner"
	"pawl/internal/markers"
	"pawl/internal/notebook"
	"pawl/internal/sessionlock"
	"pawl/internal/supervise/process"
)

func token() pawl.Token { return pawl.Token(disk.RandomHex(8)) }

// captured is the output of code.
type captured struct {
	id             kernel.CellID
	stdout, stderr bounded
	clean          func(string) string
	recorder       *notebook.Recorder
}

// bounded is a text of at most maxOutput bytes.
type bounded struct {
	strings.Builder
	cut bool
}

func (b *bounded) add(text string) {
	if room := maxOutput - b.Len(); len(text) > room {
		text, b.cut = strings.ToValidUTF8(text[:room], ""), true
	}
	b.WriteString(text)
}

// newRecorder returns a recorder that drops output beyond the limits of a notebook: the session's log has it.
func newRecorder() *notebook.Recorder {
	return notebook.NewRecorder(notebook.Limits{}, func(kernel.CellID, string, int64, []byte) (string, error) { return "the log of the session", nil })
}

func (c *captured) add(m kernel.Message) error {
	if m.Cell != c.id {
		return nil
	}
	m.Text = c.clean(m.Text)
	switch {
	case m.Kind == kernel.KindStream && m.Stream == kernel.Stderr:
		c.stderr.add(m.Text)
	case m.Kind == kernel.KindStream:
		c.stdout.add(m.Text)
	case m.Kind == kernel.KindDisplay, m.Kind == kernel.KindResult:
		if text := m.PlainText(); text != "" {
			c.stdout.add(c.clean(text) + "\n")
		}
	}
	return c.recorder.Add(m)
}

// newOutput returns the output of code that put out nothing.
func newOutput() *Output { return &Output{Markers: []Marker{}, Artifacts: []string{}} }

// execution is code that was executed.
type execution struct {
	session
	began    time.Time
	limit    time.Duration
	captured *captured
	end      *runner.End
	status   *runner.Status
}

// result returns the answer.
func (x execution) result(notes []string) Result {
	took := time.Since(x.began)
	out := newOutput()
	out.Stdout, out.StdoutCut = x.captured.stdout.String(), x.captured.stdout.cut
	out.Stderr, out.StderrCut = x.captured.stderr.String(), x.captured.stderr.cut
	out.Timing = Timing{Started: x.began.UTC().Format("2006-01-02T15:04:05.000Z"), Duration: took.Milliseconds()}
	for _, m := range markers.ParseAll(out.Stdout) {
		out.Markers = append(out.Markers, Marker{Type: m.Type, Subtype: m.Subtype, Attributes: m.Attributes, Content: m.Content, Line: m.Line,
			Category: markers.Category(m.Type), Valid: m.Valid})
	}
	r := Result{Success: x.end.Status == kernel.OK, Output: out, Memory: memoryOf(x.status.Info.PID), Error: x.failure(took), Count: x.end.Count,
		Python: pythonOf(x.status.Info.Interpreter.Path), Note: strings.Join(notes, "; ")}
	switch {
	case x.end.Death != nil:
		r.TerminatedBy = x.end.Death.Signal
	case x.end.Status == kernel.Interrupted:
		r.TerminatedBy = "graceful"
	}
	if r.TerminatedBy != "" && took > x.limit {
		r.Termination = (took - x.limit).Milliseconds()
	}
	if x.call.Capture {
		r.Captured, r.NotebookPath = x.capture()
	}
	return r
}

// failure returns the error of the code, in the words of Gyoshu's bridge; nil if it succeeded.
func (x execution) failure(took time.Duration) *Error {
	switch e := x.end.Error; {
	case x.end.Status == kernel.OK:
		return nil
	case x.end.Status == kernel.Interrupted && took >= x.limit:
		return &Error{Code: codeTimeout, Type: "TimeoutError", Message: "Code execution timed out", Traceback: "Execution timed out"}
	case x.end.Status == kernel.Interrupted:
		return &Error{Type: "KeyboardInterrupt", Message: "Execution interrupted", Traceback: "Interrupted by user"}
	case e != nil:
		return &Error{Type: e.Name, Message: x.Clean(e.Value), Traceback: x.Clean(strings.Join(e.Traceback, "\n"))}
	}
	return &Error{Code: codeExecution, Type: "ExecutionError", Message: x.Clean(x.end.Reason())}
}

// pythonOf describes an interpreter.
func pythonOf(path string) *Python {
	if disk.Exists(filepath.Join(filepath.Dir(filepath.Dir(path)), "pyvenv.cfg")) {
		return &Python{Type: "venv", Path: path}
	}
	return &Python{Type: "system", Path: path}
}

// maxTries is how often a notebook is written that someone else changes at the same time.
const maxTries = 5

var errChanged = errors.New("the notebook keeps changing")

// capture appends the code and its output to the notebook. If that fails, the answer says so: the code has run all the same.
func (x execution) capture() (result *Captured, path string) {
	path, err := x.notebook()
	if err != nil {
		return &Captured{Error: err.Error()}, ""
	}
	write := func() (err error) {
		for range maxTries {
			if result, err = x.appendTo(path); !errors.Is(err, errChanged) {
				break
			}
		}
		return err
	}
	err = x.Project.WithMirrorLock(func() error { return sessionlock.WithNotebook(path, sessionlock.Limit, write) })
	if err != nil {
		return &Captured{Error: x.Clean(err.Error())}, path
	}
	return result, path
}

// notebook returns the path of the notebook that gets the cell, which lies in the project.
func (x execution) notebook() (string, error) {
	path := x.call.Notebook
	switch {
	case path == "" && x.call.Title == "":
		return "", errors.New("autoCapture needs notebookPath or reportTitle")
	case path == "":
		path = filepath.Join("notebooks", x.call.Title+".ipynb")
	}
	if !strings.HasSuffix(path, ".ipynb") {
		return "", fmt.Errorf("%s is not a notebook", path)
	}
	return x.inProject(path)
}

// appendTo appends the cell to a notebook, and updates the run in its front matter.
func (x execution) appendTo(path string) (*Captured, error) {
	before, err := disk.ReadFile(path, notebook.MaxSize)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		return nil, err
	}
	current := before
	if missing {
		current = gyoshu.NewNotebook(x.call.Session, x.began)
		if err := disk.MakeFoldersAs(filepath.Dir(path), 0o755); err != nil {
			return nil, err
		}
	}
	n, err := notebook.Read(current)
	if err != nil {
		return nil, err
	}
	index := len(n.Cells)
	id := n.FreeID("gyoshu-" + disk.RandomHex(4))
	text, err := notebook.Append(current, x.cell(id))
	if err != nil {
		return nil, err
	}
	if x.call.Run != "" {
		text = gyoshu.WithRun(text, x.run(), x.status.Info.Interpreter.Path, time.Now())
	}
	err = disk.ReplacePreservingIf(path, text, 0o644, func() error {
		now, err := disk.ReadFile(path, notebook.MaxSize)
		if missing && errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && string(now) != string(before) {
			err = errChanged
		}
		return err
	})
	return &Captured{Captured: true, Cell: id, Index: &index}, err
}

// cell returns the cell with the code and its output.
func (x execution) cell(id string) notebook.NewCell {
	failed := x.end.Status != kernel.OK
	out := x.captured
	times := out.recorder.Times(out.id)
	return notebook.NewCell{ID: id, Type: notebook.Code, Source: x.Clean(x.call.Code), Outputs: out.recorder.Outputs(out.id), Count: x.end.Count,
		Metadata: notebook.CellMetadata{Execution: times.Execution(), Papermill: times.Papermill(&failed), Gyoshu: notebook.ResearchCell(time.Now())}}
}

// run returns the entry of the run in the front matter.
func (x execution) run() gyoshu.RunEntry {
	run := gyoshu.RunEntry{ID: x.call.Run, Started: x.began, Status: "in_progress"}
	if x.end.Status != kernel.OK {
		run.Status = "failed"
	}
	return run
}

// memoryOf returns the memory of a process; zeros if it is unknown.
func memoryOf(pid int) *Memory {
	rss, vms, err := process.Memory(pid)
	if err != nil {
		return &Memory{}
	}
	return &Memory{RSS: mebibytes(rss), VMS: mebibytes(vms)}
}

func mebibytes(bytes int64) float64 {
	v, _ := strconv.ParseFloat(strconv.FormatFloat(float64(bytes)/(1<<20), 'f', 1, 64), 64) // one decimal
	return v
}
