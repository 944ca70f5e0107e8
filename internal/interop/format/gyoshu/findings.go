package gyoshu

import (
	"errors"
	"fmt"

	"pawl"
	"pawl/internal/interop/format/report"
	"pawl/internal/textedit/jsonedit"
)

// findings collects what is found in one file.
type findings struct {
	path string
	list []pawl.Finding
}

// add adds a finding at a line; 0 for the file as a whole.
func (f *findings) add(level pawl.Level, line int, what, hint string) {
	f.list = append(f.list, pawl.Finding{Level: level, What: what, Where: report.Where(f.path, line), Hint: hint})
}

func (f *findings) bad(line int, format string, args ...any) {
	f.add(pawl.Bad, line, fmt.Sprintf(format, args...), "")
}

func (f *findings) warn(line int, format string, args ...any) {
	f.add(pawl.Warn, line, fmt.Sprintf(format, args...), "")
}

// broken says where a file stops being JSON, or what it is to be.
func (f *findings) broken(err error) {
	if wrong, ok := errors.AsType[*jsonedit.SyntaxError](err); ok {
		f.bad(wrong.Line, "invalid JSON: %v", err)
		return
	}
	line := 0
	if wrong, ok := errors.AsType[*shapeError](err); ok {
		line = wrong.line
	}
	f.bad(line, "%v", err)
}

// shapeError says that a file is JSON, and does not hold what it should.
type shapeError struct {
	line int
	what string
}

func (e *shapeError) Error() string { return e.what }

// listIn returns the list that a file has to hold under a key.
func listIn(root *jsonedit.Value, key string) ([]*jsonedit.Value, error) {
	list := root.Get(key)
	if !list.Is(jsonedit.Array) {
		return nil, &shapeError{line: max(list.Line(), root.Line()), what: "it has no list of " + key}
	}
	return list.Items, nil
}
