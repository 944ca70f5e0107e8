package layout

import (
	"bytes"
	"io"
	"strings"
)

// Quoter writes "> " before each line.
type Quoter struct {
	Out  io.Writer
	open bool // the last line has no end yet
}

// Write implements io.Writer.
func (q *Quoter) Write(text []byte) (int, error) {
	var quoted strings.Builder
	for line := range bytes.Lines(text) {
		if !q.open {
			quoted.WriteString("> ")
		}
		quoted.Write(line)
		q.open = !bytes.HasSuffix(line, []byte("\n"))
	}
	if _, err := io.WriteString(q.Out, quoted.String()); err != nil {
		return 0, err
	}
	return len(text), nil
}
