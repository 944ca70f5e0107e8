// Package textedit holds what the editors of the packages below it share: byte-range edits, lines and parts of a file.
// An editor changes a text in place and keeps every other byte. It never decodes a file and encodes it again.
//
// The editors read values as they are written, so the id 08 stays "08". They are pure. No input makes them panic or
// takes them more than linear time.
package textedit

import (
	"bytes"
	"cmp"
	"slices"
)

// Edit replaces the bytes from From up to To by Text.
type Edit struct {
	From, To int
	Text     string
}

// Apply returns data with the edits made, which must not overlap. Those at the same place are made in their order.
func Apply(data []byte, edits []Edit) []byte {
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, func(a, b Edit) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To)) })
	var out bytes.Buffer
	at := 0
	for _, e := range edits {
		out.Write(data[at:e.From])
		out.WriteString(e.Text)
		at = e.To
	}
	out.Write(data[at:])
	return out.Bytes()
}

// EOL returns the line end that data uses: that of its first line.
func EOL(data []byte) string {
	if i := bytes.IndexByte(data, '\n'); i > 0 && data[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}
