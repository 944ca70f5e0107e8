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
	"pawl/internal/kernel"
	"pawl/internal/kernel/runner"
	"pawl/internal/notebook"
	"pawl/internal/supervise/process"
)

func token() pawl.Token { return pawl.Token(disk.RandomHex(8)) }

// captured is the output of code.
type captured struct {
	id             kernel.CellID
	stdout, stderr strings.Builder
	cut            bool
	clean          func(string) string
	recorder       *notebook.Recorder
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
		c.write(&c.stderr, m.Text)
	case m.Kind == kernel.KindStream:
		c.write(&c.stdout, m.Text)
	case m.Kind == kernel.KindDisplay, m.Kind == kernel.KindResult:
		if text := m.PlainText(); text != "" {
			c.write(&c.stdout, c.clean(text)+"\n")
		}
	}
	return c.recorder.Add(m)
}

func (c *captured) write(to *strings.Builder, text string) {
	if room := maxOutput - to.Len(); len(text) > room {
		text, c.cut = strings.ToValidUTF8(text[:room], ""), true
	}
	to.WriteString(text)
}

// maxTries is how often a notebook is written that someone else changes at the same time.
const maxTries = 5

var errChanged = errors.New("the notebook keeps changing")

// capture appends the code and its output to the notebook. If that fails, the answer says so: the code has run all the same.
func (s session) capture(out *captured, end *runner.End) *Captured {
	path, err := s.notebook()
	if err != nil {
		return &Captured{Error: err.Error()}
	}
	id := ""
	err = s.Project.WithMirrorLock(func() (err error) {
		for range maxTries {
			if id, err = s.appendTo(path, out, end); !errors.Is(err, errChanged) {
				break
			}
		}
		return err
	})
	if err != nil {
		return &Captured{Error: err.Error()}
	}
	return &Captured{Captured: true, Cell: id}
}

// notebook returns the path of the notebook that gets the cell, which lies in the project.
func (s session) notebook() (string, error) {
	path := s.call.Notebook
	switch {
	case path == "" && s.call.Title == "":
		return "", errors.New("autoCapture needs notebookPath or reportTitle")
	case path == "":
		path = filepath.Join("notebooks", s.call.Title+".ipynb")
	}
	if filepath.IsAbs(path) {
		rel, err := filepath.Rel(s.Project.Root, path)
		if err != nil {
			return "", err
		}
		path = rel
	}
	if !filepath.IsLocal(path) || !strings.HasSuffix(path, ".ipynb") {
		return "", fmt.Errorf("%s is not a notebook in the project", path)
	}
	return filepath.Join(s.Project.Root, path), nil
}

// appendTo appends the cell to a notebook and returns its id.
func (s session) appendTo(path string, out *captured, end *runner.End) (id string, err error) {
	before, err := disk.ReadFile(path, notebook.MaxSize)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		return "", err
	}
	current := before
	if missing {
		current = notebook.New(notebook.Kernelspec{Name: "python3", DisplayName: "Python 3", Language: "python"}, nil)
		if err := disk.MakeFoldersAs(filepath.Dir(path), 0o755); err != nil {
			return "", err
		}
	}
	n, err := notebook.Read(current)
	if err != nil {
		return "", err
	}
	failed := end.Status != kernel.OK
	times := out.recorder.Times(out.id)
	id = n.FreeID("gyoshu-" + disk.RandomHex(4))
	text, err := notebook.Append(current, notebook.NewCell{ID: id, Type: notebook.Code, Source: s.Clean(s.call.Code), Outputs: out.recorder.Outputs(out.id), Count: end.Count,
		Metadata: notebook.CellMetadata{Execution: times.Execution(), Papermill: times.Papermill(&failed), Gyoshu: notebook.ResearchCell(time.Now())}})
	if err != nil {
		return "", err
	}
	return id, disk.ReplacePreservingIf(path, text, 0o644, func() error {
		now, err := disk.ReadFile(path, notebook.MaxSize)
		if missing && errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && string(now) != string(before) {
			err = errChanged
		}
		return err
	})
}

// memoryOf returns the memory of a process; zeros if it is unknown.
func memoryOf(pid int) Memory {
	rss, vms, err := process.Memory(pid)
	if err != nil {
		return Memory{}
	}
	return Memory{RSS: mebibytes(rss), VMS: mebibytes(vms)}
}

func mebibytes(bytes int64) float64 {
	v, _ := strconv.ParseFloat(strconv.FormatFloat(float64(bytes)/(1<<20), 'f', 1, 64), 64) // one decimal
	return v
}
