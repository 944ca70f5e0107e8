package notebook

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"pawl/internal/textedit"
	"pawl/internal/textedit/jsonedit"
)

// maxFaults is the number of errors, and of warnings, that are reported.
const maxFaults = 50

// Error lists what is wrong with a notebook, so that pawl cannot execute it.
type Error struct {
	Faults []*textedit.SyntaxError // in the order of the file
}

// Error returns one line for each error.
func (e *Error) Error() string {
	texts := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		texts[i] = f.Error()
	}
	return strings.Join(texts, "\n")
}

// Read reads a notebook. The error is an *Error: with the first syntax error, or all errors in the structure.
func Read(text []byte) (*Notebook, error) {
	if len(text) > MaxSize {
		return nil, failed(textedit.ErrorAt(nil, 0, fmt.Sprintf("the notebook has %d bytes, more than %d; clear its outputs", len(text), MaxSize)))
	}
	if at := invalidUTF8(text); at >= 0 {
		return nil, failed(textedit.ErrorAt(text, at, "not UTF-8; save the notebook as UTF-8"))
	}
	root, err := jsonedit.Read(text)
	if err != nil {
		return nil, failed(syntaxError(text, err))
	}
	r := &reader{n: &Notebook{text: text, root: root}, text: text}
	if r.format(root); len(r.faults) == 0 {
		r.notebook(root)
	}
	if len(r.faults) > 0 {
		return nil, failed(r.faults...)
	}
	r.n.giveIDs()
	return r.n, nil
}

func failed(faults ...*textedit.SyntaxError) *Error { return &Error{faults} }

// syntaxError explains why a text is not JSON: because it is empty or has conflict markers of git, for instance.
func syntaxError(text []byte, err error) *textedit.SyntaxError {
	switch i := bytes.Index(text, []byte("\n<<<<<<< ")); {
	case len(bytes.TrimSpace(text)) == 0:
		return textedit.ErrorAt(text, 0, "the file is empty; a notebook needs at least "+`{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}`)
	case i >= 0:
		return textedit.ErrorAt(text, i+1, "a conflict of a git merge; resolve it first")
	}
	if e, ok := err.(*jsonedit.SyntaxError); ok {
		return &textedit.SyntaxError{Line: e.Line, Column: e.Column, Why: "not JSON: " + e.Why}
	}
	return textedit.ErrorAt(text, 0, err.Error())
}

// invalidUTF8 returns the offset of the first byte that is not UTF-8, -1 if there is none.
func invalidUTF8(text []byte) int {
	if utf8.Valid(text) {
		return -1
	}
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

// reader reads one notebook.
type reader struct {
	n      *Notebook
	text   []byte
	faults []*textedit.SyntaxError
}

func (r *reader) errorf(v *jsonedit.Value, format string, args ...any) {
	if len(r.faults) < maxFaults {
		r.faults = append(r.faults, textedit.ErrorAt(r.text, v.From, fmt.Sprintf(format, args...)))
	}
}

func (r *reader) warn(v *jsonedit.Value, repair, format string, args ...any) {
	if len(r.n.Warnings) < maxFaults {
		line, column := at(r.text, v)
		r.n.Warnings = append(r.n.Warnings, Warning{line, column, fmt.Sprintf(format, args...), repair})
	}
}

// format checks the version of the format.
func (r *reader) format(root *jsonedit.Value) {
	if !root.Is(jsonedit.Object) {
		r.errorf(root, "a notebook must be a JSON object")
		return
	}
	major, ok := root.Get("nbformat").Int()
	minor, minorOK := root.Get("nbformat_minor").Int()
	switch v := cmpValue(root.Get("nbformat"), root); {
	case !ok && root.Get("worksheets") == nil && root.Get("cells") == nil:
		r.errorf(v, `not a notebook: it has neither "nbformat" nor "cells"`)
	case !ok:
		r.errorf(v, `"nbformat" must be 4`)
	case major < 4:
		r.errorf(v, "nbformat %d is too old; convert the notebook with: jupyter nbconvert --to notebook --nbformat 4 --inplace FILE", major)
	case major > 4:
		r.errorf(v, "nbformat %d is newer than 4, the newest that this pawl reads; update pawl, or save the notebook as version 4", major)
	case !minorOK || minor < 0:
		r.errorf(cmpValue(root.Get("nbformat_minor"), root), `"nbformat_minor" must be an integer from 0 to 5`)
	case minor > 5:
		r.errorf(root.Get("nbformat_minor"), "nbformat 4.%d is newer than 4.5, the newest that this pawl reads; update pawl, or save the notebook as version 4.5", minor)
	}
	r.n.Minor = int(minor)
}

// cmpValue returns v if it exists, else or.
func cmpValue(v, or *jsonedit.Value) *jsonedit.Value {
	if v != nil {
		return v
	}
	return or
}

func (r *reader) notebook(root *jsonedit.Value) {
	r.keys(root, "the notebook", "cells", "metadata", "nbformat", "nbformat_minor")
	r.metadata(root.Get("metadata"), root, "the notebook")
	r.kernel(root.Get("metadata"))
	cells := root.Get("cells")
	switch {
	case !cells.Is(jsonedit.Array):
		r.errorf(cmpValue(cells, root), `"cells" must be a list of cells`)
		return
	case len(cells.Items) > MaxCells:
		r.errorf(cells, "the notebook has %d cells, more than %d; split it", len(cells.Items), MaxCells)
		return
	}
	r.n.Cells = make([]Cell, 0, len(cells.Items))
	for i, c := range cells.Items {
		r.cell(c, fmt.Sprintf("cell %d", i+1))
	}
}

// keys reports keys that a value has twice, and the first one that the format does not know.
func (r *reader) keys(v *jsonedit.Value, where string, known ...string) {
	seen, told := make(map[string]bool, len(known)), false
	for _, m := range v.Members {
		switch {
		case seen[m.Key]:
			r.errorf(m.Value, "%s has the key %q twice; remove one", where, m.Key)
		case !told && !slices.Contains(known, m.Key):
			r.warn(m.Value, "", "%s has the key %q, which the format does not know; move it to \"metadata\"", where, m.Key)
			told = true
		}
		seen[m.Key] = true
	}
}

func (r *reader) metadata(v, of *jsonedit.Value, where string) {
	switch {
	case v == nil:
		r.warn(of, "pawl adds it", `%s has no "metadata"`, where)
	case !v.Is(jsonedit.Object):
		r.errorf(v, `"metadata" of %s must be an object`, where)
	}
}

func (r *reader) kernel(metadata *jsonedit.Value) {
	r.n.LanguageInfo = metadata.Get("language_info").Raw()
	k := &r.n.Kernel
	k.Name = metadata.Get("kernelspec", "name").Text()
	k.DisplayName = metadata.Get("kernelspec", "display_name").Text()
	k.Language = strings.ToLower(metadata.Get("language_info", "name").Text())
	if k.Language == "" {
		k.Language = strings.ToLower(metadata.Get("kernelspec", "language").Text())
	}
	if spec := metadata.Get("kernelspec"); spec != nil && (!metadata.Get("kernelspec", "name").Is(jsonedit.String) || !metadata.Get("kernelspec", "display_name").Is(jsonedit.String)) {
		r.warn(spec, "", `"kernelspec" needs "name" and "display_name"`)
	}
}

func (r *reader) cell(v *jsonedit.Value, where string) {
	if !v.Is(jsonedit.Object) {
		r.errorf(v, "%s must be an object", where)
		return
	}
	c := Cell{Type: CellType(v.Get("cell_type").Text()), json: v, text: r.text}
	known := []string{"cell_type", "id", "metadata", "source"}
	switch c.Type {
	case Code:
		known = append(known, "outputs", "execution_count")
	case Markdown, Raw:
		known = append(known, "attachments")
	default:
		r.errorf(cmpValue(v.Get("cell_type"), v), `"cell_type" of %s must be "code", "markdown" or "raw"`, where)
		return
	}
	r.keys(v, where, known...)
	r.metadata(v.Get("metadata"), v, where)
	c.Tags = r.tags(v.Get("metadata", "tags"), where)
	if source := v.Get("source"); isText(source) {
		c.Source = multiline(source)
	} else {
		r.errorf(cmpValue(source, v), `"source" of %s must be a string or a list of strings`, where)
	}
	if c.Type == Code {
		r.code(&c, where)
	}
	r.n.Cells = append(r.n.Cells, c)
}

func (r *reader) code(c *Cell, where string) {
	v := c.json
	if !utf8.ValidString(c.Source) {
		r.errorf(v.Get("source"), `"source" of %s contains half of a surrogate pair (such as \ud83d); remove it`, where)
	}
	count := v.Get("execution_count")
	n, isInt := count.Int()
	switch {
	case count == nil:
		r.warn(v, "pawl adds null", `%s has no "execution_count"`, where)
	case isInt && n >= 0:
		c.Count = int(n)
	case !count.Is(jsonedit.Null):
		r.errorf(count, `"execution_count" of %s must be null or a count`, where)
	}
	outputs := v.Get("outputs")
	switch {
	case outputs == nil:
		r.warn(v, "pawl adds []", `%s has no "outputs"`, where)
	case !outputs.Is(jsonedit.Array):
		r.errorf(outputs, `"outputs" of %s must be a list`, where)
	default:
		for i, o := range outputs.Items {
			r.output(o, fmt.Sprintf("output %d of %s", i+1, where))
		}
	}
}

// tags returns tags. A tag may change what is executed, so invalid ones are errors.
func (r *reader) tags(v *jsonedit.Value, where string) []string {
	if v == nil {
		return nil
	}
	if !v.Is(jsonedit.Array) || slices.ContainsFunc(v.Items, func(tag *jsonedit.Value) bool { return !tag.Is(jsonedit.String) }) {
		r.errorf(v, `"tags" of %s must be a list of strings`, where)
		return nil
	}
	tags := make([]string, len(v.Items))
	for i, tag := range v.Items {
		tags[i] = tag.Text()
	}
	return tags
}

// output checks an output. An invalid one does not keep the cell from being executed.
func (r *reader) output(v *jsonedit.Value, where string) {
	var needs []string
	switch kind := v.Get("output_type").Text(); kind {
	case "stream":
		needs = []string{"name", "text"}
	case "display_data":
		needs = []string{"data", "metadata"}
	case "execute_result":
		needs = []string{"data", "metadata", "execution_count"}
	case "error":
		needs = []string{"ename", "evalue", "traceback"}
	default:
		r.warn(v, "", "%s has an unknown type; clear the outputs", where)
		return
	}
	for _, key := range needs {
		if v.Get(key) == nil {
			r.warn(v, "", "%s has no %q; clear the outputs", where, key)
			return
		}
	}
	for _, m := range v.Members {
		if m.Key != "output_type" && !slices.Contains(needs, m.Key) {
			r.warn(m.Value, "", "%s has the key %q, which the format does not know; clear the outputs", where, m.Key)
			return
		}
	}
}

// isText reports whether a value is a string or a list of strings.
func isText(v *jsonedit.Value) bool {
	if v.Is(jsonedit.Array) {
		return !slices.ContainsFunc(v.Items, func(line *jsonedit.Value) bool { return !line.Is(jsonedit.String) })
	}
	return v.Is(jsonedit.String)
}
