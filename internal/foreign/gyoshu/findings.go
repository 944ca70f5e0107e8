package gyoshu

import (
	"errors"
	"fmt"
	"strconv"

	"pawl"
	"pawl/internal/foreign/splice"
)

// findings collects what is found in one file.
type findings struct {
	path string
	list []pawl.Finding
}

// add adds a finding at a line; 0 for the file as a whole.
func (f *findings) add(level pawl.Level, line int, what, hint string) {
	where := f.path
	if line > 0 {
		where += ":" + strconv.Itoa(line)
	}
	f.list = append(f.list, pawl.Finding{Level: level, What: what, Where: where, Hint: hint})
}

func (f *findings) bad(line int, format string, args ...any) {
	f.add(pawl.Bad, line, fmt.Sprintf(format, args...), "")
}

func (f *findings) warn(line int, format string, args ...any) {
	f.add(pawl.Warn, line, fmt.Sprintf(format, args...), "")
}

// broken says where a file stops being JSON.
func (f *findings) broken(err error) {
	line := 0
	if wrong, ok := errors.AsType[*splice.JSONError](err); ok {
		line = wrong.Line
	}
	f.bad(line, "it is not JSON: %v", err)
}
