package kernel

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"

	"pawl/internal/disk"
	"pawl/internal/kernel/runner"
	"pawl/internal/notebook"
	"pawl/internal/oneline"
)

// load reads the cells of the step, with their keys.
func (a *attempt) load(base runner.Key) error {
	action := a.job.Kernel.Action
	seed := string(base) + "\x00" + a.seed
	if action.File == "" {
		a.cells = oneCell(seed, string(a.job.Step), action.Code)
		a.doc = &document{}
		return nil
	}
	path := a.path(action.File)
	data, err := disk.ReadFile(path, notebook.MaxSize)
	if err != nil {
		return fmt.Errorf("%s: %w", action.File, err)
	}
	if filepath.Ext(action.File) != ".ipynb" {
		a.cells = oneCell(seed, action.File, string(data))
		a.doc = &document{}
		return nil
	}
	return a.loadNotebook(data, seed)
}

// path returns the absolute path of a file of the project.
func (a *attempt) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(a.job.Root, filepath.FromSlash(name))
}

// oneCell returns the only cell of a step with code.
func oneCell(seed, name, code string) []cell {
	return []cell{{Link: runner.Link{Key: runner.Key(notebook.Key(seed, code)), Name: name, Code: code}}}
}

// loadNotebook reads a notebook, puts the parameters into it, and prepares the notebook that gets the outputs.
func (a *attempt) loadNotebook(data []byte, seed string) error {
	action := a.job.Kernel.Action
	out := action.Out
	if out == "" {
		out = action.File
	}
	if !filepath.IsAbs(out) && !filepath.IsLocal(filepath.FromSlash(out)) { // it may have the value of an item
		return fmt.Errorf("out: %s is not in the project", out)
	}
	n, text, warnings, err := notebook.ReadWith(data, action.Params)
	if err != nil {
		return fmt.Errorf("%s: %w", action.File, err)
	}
	for _, w := range warnings {
		a.note(w)
	}
	keys := notebook.Keys(n.Cells, seed)
	number := 0
	for i, c := range n.Cells {
		if c.Type == notebook.Code {
			number++
		}
		if keys[i] == "" {
			continue
		}
		name := fmt.Sprintf("%d (%s)", number, oneline.Clip(firstLine(c.Source), 60))
		a.cells = append(a.cells, cell{id: c.ID, Link: runner.Link{Key: runner.Key(keys[i]), Name: name, Code: c.Source, MayFail: c.Has(notebook.TagRaises)}})
	}
	a.doc, err = openDocument(a, a.path(out), text, n)
	return err
}

// firstLine returns the first line of code that is not a comment, or else the first line.
func firstLine(code string) string {
	first := ""
	for line := range strings.Lines(code) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "#") {
			return line
		}
		if first == "" {
			first = line
		}
	}
	return first
}

// sameCells reports whether two notebooks have the same cells to execute.
func sameCells(a, b *notebook.Notebook) bool {
	key := func(n *notebook.Notebook) []byte {
		var all bytes.Buffer
		for i, k := range notebook.Keys(n.Cells, "") {
			if k != "" {
				fmt.Fprintln(&all, n.Cells[i].ID, k)
			}
		}
		return all.Bytes()
	}
	return bytes.Equal(key(a), key(b))
}
