// Package splice changes files of other systems in place: YAML, alone or as front matter, Markdown and JSON. What is not
// to change stays as it is, to the byte: nothing is decoded and encoded anew.
//
// It reads values as they are written, so that the id 08 stays "08". It is pure, and made for files that anybody may
// have written: whatever the bytes, nothing here panics or takes more than a moment.
package splice

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
