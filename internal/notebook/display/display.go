// Package display prepares the cells of a notebook for a page that shows them. A notebook is content of strangers, so what it returns is
// only text, tables of text, and images that were checked. All of it is limited in size. The package is pure.
package display

import (
	"encoding/json"
	"strings"
	"time"

	"pawl/internal/kernel"
	"pawl/internal/notebook"
)

// Limits of what is shown.
const (
	maxText    = 256 << 10 // bytes of a source or of a text
	maxOutputs = 200       // of a cell
	maxPage    = 8 << 20   // bytes after which a page has no other cell
	maxCell    = 12 << 20  // bytes after which a cell has no other output
)

// Page is a part of the cells of a notebook.
type Page struct {
	Cells  []Cell `json:"cells"`
	Total  int    `json:"total"`           // cells of the notebook
	Next   int    `json:"next,omitempty"`  // index of the first cell of the next page; 0: this is the last one
	Counts Counts `json:"counts"`          // of all cells
	Kernel string `json:"kernel"`          // display name or name of the kernel; empty: the notebook does not say
	Lang   string `json:"language"`        // lower case; empty: the notebook does not say
	Notes  []Note `json:"notes,omitempty"` // what is invalid in the notebook
}

// Counts counts the code cells by how far they are.
type Counts struct {
	Code      int `json:"code"` // that are executed: neither empty nor tagged to be skipped
	Done      int `json:"done"`
	Failed    int `json:"failed"`
	Executing int `json:"executing"`
}

// Note is something invalid in the notebook.
type Note struct {
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Text   string `json:"text"`
}

// Cell is a cell of a notebook.
type Cell struct {
	Index   int      `json:"index"`
	ID      string   `json:"id"`
	Type    string   `json:"type" enum:"code,markdown,raw"`
	Source  string   `json:"source"`
	Cut     int      `json:"cut,omitempty"` // bytes of the source that are left out
	Tags    []string `json:"tags,omitempty"`
	Outputs []Output `json:"outputs,omitempty"`
	LeftOut int      `json:"outputs_left_out,omitempty"`

	// of code
	Count      int        `json:"execution_count,omitempty"`
	Status     string     `json:"status,omitempty" enum:"not_executed,executing,done,failed,skipped"`
	StartedAt  *time.Time `json:"started_at,omitempty"`
	Seconds    float64    `json:"seconds,omitempty"`
	Attempts   int        `json:"attempts,omitempty"`
	Interrupts int        `json:"interrupts,omitempty"`
	Resumes    int        `json:"resumes,omitempty"`
}

// Output is an output of a cell.
type Output struct {
	Kind   Kind    `json:"kind" enum:"text,stdout,stderr,error,image,table,json"`
	Text   string  `json:"text,omitempty"`   // with ANSI colors; of an image and of tables, what describes it
	Cut    int     `json:"cut,omitempty"`    // bytes of the text that are left out
	Image  string  `json:"image,omitempty"`  // data URL
	Vector bool    `json:"vector,omitempty"` // the image is SVG
	Tables []Table `json:"tables,omitempty"`
}

// Kind is how an output is shown.
type Kind string

// The kinds of outputs.
const (
	Text   Kind = "text"
	Stdout Kind = "stdout"
	Stderr Kind = "stderr"
	Error  Kind = "error"
	Image  Kind = "image"
	Tabled Kind = "table"
	JSON   Kind = "json"
)

// Cells returns up to limit cells of a notebook, the first one at an index. clean removes secrets from texts.
func Cells(n *notebook.Notebook, from, limit int, clean func(string) string) Page {
	p := Page{Cells: []Cell{}, Total: len(n.Cells), Kernel: n.Kernel.DisplayName, Lang: n.Kernel.Language}
	if p.Kernel == "" {
		p.Kernel = n.Kernel.Name
	}
	for _, w := range n.Warnings {
		p.Notes = append(p.Notes, Note{w.Line, w.Column, clean(w.Text)})
	}
	history := map[int]notebook.Executed{}
	for _, x := range n.History() {
		history[x.Index] = x
		p.Counts.add(x.Status)
	}
	size := 0
	for i := from; i < len(n.Cells); i++ {
		if len(p.Cells) == limit || size > maxPage {
			p.Next = i
			break
		}
		c, bytes := cellOf(&n.Cells[i], clean)
		c.Index = i
		if x, isCode := history[i]; isCode {
			c.executed(x)
		}
		p.Cells, size = append(p.Cells, c), size+bytes
	}
	return p
}

func (c *Counts) add(status notebook.ExecutionStatus) {
	if status == notebook.Skipped {
		return
	}
	c.Code++
	switch status {
	case notebook.Done:
		c.Done++
	case notebook.Failed:
		c.Failed++
	case notebook.Executing:
		c.Executing++
	}
}

func (c *Cell) executed(x notebook.Executed) {
	c.Status, c.Seconds, c.Attempts, c.Interrupts, c.Resumes = string(x.Status), x.Duration.Seconds(), max(0, x.Attempts), max(0, x.Interrupts), max(0, x.Resumes)
	if year := x.Started.Year(); !x.Started.IsZero() && year > 0 && year < 10_000 { // others cannot be written as JSON
		c.StartedAt = &x.Started
	}
}

// cellOf returns a cell, and about how many bytes it has.
func cellOf(from *notebook.Cell, clean func(string) string) (Cell, int) {
	c := Cell{ID: from.ID, Type: string(from.Type), Count: from.Count}
	c.Source, c.Cut = cut(clean, from.Source)
	for i, tag := range from.Tags {
		if i < 20 {
			c.Tags = append(c.Tags, clip(clean(clip(tag, 1000)), 100))
		}
	}
	size := len(c.Source)
	if from.Type != notebook.Code {
		return c, size
	}
	outputs := from.Outputs()
	for i, o := range outputs {
		if i == maxOutputs || size > maxCell {
			c.LeftOut = len(outputs) - i
			break
		}
		shown := outputOf(o, clean)
		c.Outputs, size = append(c.Outputs, shown), size+shown.size()
	}
	return c, size
}

func (o *Output) size() int {
	size := len(o.Text) + len(o.Image) + 100
	for _, t := range o.Tables {
		size += t.size()
	}
	return size
}

// cut returns a text without secrets that is not too long, and how many bytes of it are left out.
func cut(clean func(string) string, text string) (string, int) {
	const longest = 4 << 10 // of a secret: one at the limit is recognized
	short := strings.ToValidUTF8(clean(text[:min(len(text), maxText+longest)]), "\uFFFD")
	if len(text) <= maxText {
		return short, 0
	}
	return clip(short, maxText), len(text) - maxText
}

// clip returns the start of a text that is too long.
func clip(text string, limit int) string {
	return strings.ToValidUTF8(text[:min(len(text), limit)], "")
}

func outputOf(o notebook.Output, clean func(string) string) (shown Output) {
	switch o.Type {
	case notebook.Stream:
		shown.Kind = Stdout
		if o.Stream == kernel.Stderr {
			shown.Kind = Stderr
		}
		shown.Text, shown.Cut = cut(clean, o.Text)
	case notebook.Failure:
		text := strings.Join(o.Error.Traceback, "\n")
		if strings.TrimSpace(text) == "" {
			text = o.Error.Name + ": " + o.Error.Value
		}
		shown.Kind = Error
		shown.Text, shown.Cut = cut(clean, text)
	default:
		shown = displayOf(o.Data, clean)
	}
	return shown
}

// displayOf returns what is best to see of a display: an image, tables, JSON, or text.
func displayOf(data map[string]json.RawMessage, clean func(string) string) Output {
	text := textOf(data["text/plain"])
	for _, mime := range []string{"image/png", "image/jpeg", "image/gif", "image/svg+xml"} {
		if url := imageURL(mime, textOf(data[mime])); url != "" {
			o := Output{Kind: Image, Image: url, Vector: mime == "image/svg+xml"}
			o.Text, o.Cut = cut(clean, text)
			return o
		}
	}
	if html := textOf(data["text/html"]); html != "" {
		tables, rest := tablesIn(html, clean)
		if len(tables) > 0 {
			o := Output{Kind: Tabled, Tables: tables}
			o.Text, o.Cut = cut(clean, rest)
			return o
		}
		if text == "" {
			text = rest
		}
	}
	if data["application/json"] != nil && text == "" || onlyJSON(data) {
		o := Output{Kind: JSON}
		o.Text, o.Cut = cut(clean, indented(data["application/json"]))
		return o
	}
	for _, mime := range []string{"text/markdown", "text/latex", "image/svg+xml"} {
		if text == "" {
			text = textOf(data[mime])
		}
	}
	if text == "" && len(data) > 0 {
		text = "[an output that the page does not show]"
	}
	o := Output{Kind: Text}
	o.Text, o.Cut = cut(clean, text)
	return o
}

// onlyJSON reports whether the text of a display only repeats that it is JSON, as IPython.display.JSON does.
func onlyJSON(data map[string]json.RawMessage) bool {
	return data["application/json"] != nil && strings.HasPrefix(textOf(data["text/plain"]), "<IPython.core.display.JSON")
}

func indented(text json.RawMessage) string {
	if len(text) > maxText {
		return string(text)
	}
	var value any
	if json.Unmarshal(text, &value) != nil {
		return string(text)
	}
	pretty, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return string(text)
	}
	return string(pretty)
}

// textOf returns a value that is a string or a list of strings; empty for anything else.
func textOf(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	var lines []string
	if json.Unmarshal(value, &lines) == nil {
		return strings.Join(lines, "")
	}
	return ""
}
