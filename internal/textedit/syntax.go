package textedit

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// SyntaxError reports where and why a text cannot be parsed.
type SyntaxError struct {
	Line   int // from 1
	Column int // from 1, in characters; 0 if unknown
	Why    string
}

// Error returns the line, the column and the reason.
func (e *SyntaxError) Error() string {
	if e.Column == 0 {
		return fmt.Sprintf("line %d: %s", e.Line, e.Why)
	}
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Why)
}

// ErrorAt returns a SyntaxError at a byte of a text.
func ErrorAt(text []byte, offset int, why string) *SyntaxError {
	before := text[:min(offset, len(text))]
	line := bytes.TrimPrefix(before[bytes.LastIndexByte(before, '\n')+1:], []byte(bom))
	return &SyntaxError{Line: bytes.Count(before, []byte("\n")) + 1, Column: utf8.RuneCount(line) + 1, Why: why}
}
