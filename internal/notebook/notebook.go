// Package notebook reads and writes Jupyter notebooks (nbformat 4), and folds the messages of a kernel into outputs.
//
// It promises:
//   - A notebook that it writes is valid nbformat 4.5 if the one that it read is valid after the repairs that Warnings lists.
//   - Merge puts results into the file as it is now. It matches cells by id, and never changes a cell whose source is not the
//     one that was executed. All other bytes stay as they are.
//   - Cells without a usable id get one that depends on their source only, so that another reading finds the same ids.
//   - The memory of a Recorder is bounded; output beyond the limits goes to files of the caller.
//
// The package is pure: it opens no file and reads no clock.
package notebook

import (
	"encoding/json"
	"slices"
	"strings"

	"pawl/internal/textedit"
	"pawl/internal/textedit/jsonedit"
)

// Limits of a notebook.
const (
	MaxSize  = 256 << 20 // bytes
	MaxCells = 50_000
)

// Notebook is a notebook that was read.
type Notebook struct {
	Cells    []Cell
	Minor    int // of the format: 4.Minor
	Kernel   Kernelspec
	Warnings []Warning // what is invalid, in the order of the file

	LanguageInfo []byte // JSON of language_info in the metadata; nil: none

	text []byte
	root *jsonedit.Value
}

// Kernelspec is what a notebook says about its kernel. Fields that it does not have are empty.
type Kernelspec struct {
	Name        string
	DisplayName string
	Language    string // lower case, of language_info or the kernelspec
}

// Warning is something invalid that does not keep pawl from executing the notebook. Merge repairs it if Repair says how.
type Warning struct {
	Line, Column int
	Text         string
	Repair       string
}

// Cell is a cell of a notebook.
type Cell struct {
	ID     string // unique in the notebook; see Own
	Own    bool   // the file has this id
	Type   CellType
	Source string
	Tags   []string
	Count  int // execution count; 0: none

	json *jsonedit.Value
	text []byte
}

// CellType is the type of a cell.
type CellType string

// The types of cells.
const (
	Code     CellType = "code"
	Markdown CellType = "markdown"
	Raw      CellType = "raw"
)

// Tags that change how a cell is executed.
const (
	TagParameters = "parameters"          // it assigns the defaults of parameters
	TagInjected   = "injected-parameters" // it assigns parameters, and pawl or papermill wrote it
	TagSkip       = "skip-execution"
	TagRaises     = "raises-exception" // an error of the cell does not fail the run
)

// Has reports whether the cell has a tag.
func (c *Cell) Has(tag string) bool { return slices.Contains(c.Tags, tag) }

// Executes reports whether the cell is executed: it is code, does not only consist of white space, and is not tagged to be skipped.
func (c *Cell) Executes() bool {
	return c.Type == Code && !c.Has(TagSkip) && strings.TrimSpace(c.Source) != ""
}

// Metadata returns the JSON of a value in the cell's metadata, nil if there is none.
func (c *Cell) Metadata(path ...string) []byte {
	return c.json.Get("metadata").Get(path...).Raw()
}

// Pawl returns what pawl wrote about the execution of the cell, as Merge writes it; the zero value if it wrote nothing.
func (c *Cell) Pawl() (about Pawl) {
	if json.Unmarshal(c.Metadata("pawl"), &about) != nil {
		return Pawl{}
	}
	return about
}

// Find returns the index of the cell with an id, -1 if there is none.
func (n *Notebook) Find(id string) int {
	return slices.IndexFunc(n.Cells, func(c Cell) bool { return c.ID == id })
}

// tagged returns the index of the first code cell with a tag, -1 if there is none.
func (n *Notebook) tagged(tag string) int {
	return slices.IndexFunc(n.Cells, func(c Cell) bool { return c.Type == Code && c.Has(tag) })
}

// at returns the position of a value.
func at(text []byte, v *jsonedit.Value) (line, column int) {
	e := textedit.ErrorAt(text, v.From, "")
	return e.Line, e.Column
}

// multiline returns a text that is a string or a list of lines.
func multiline(v *jsonedit.Value) string {
	if !v.Is(jsonedit.Array) {
		return v.Text()
	}
	var b strings.Builder
	for _, line := range v.Items {
		b.WriteString(line.Text())
	}
	return b.String()
}

// lines splits a text as Jupyter writes it: into lines with their ends.
func lines(text string) []string {
	list := []string{}
	for line := range strings.Lines(text) {
		list = append(list, line)
	}
	return list
}
