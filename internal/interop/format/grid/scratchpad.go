package grid

import (
	"fmt"
	"strings"

	"pawl/internal/textedit"
	"pawl/internal/textedit/markdown"
)

// readScratchpad reads the last entry: what somebody was at when the session died. When the file was last written is a
// sign of life.
func (r *clusterReader) readScratchpad() {
	if f := r.file("SCRATCHPAD_ARCHIVE.md"); f != nil {
		r.fact("scratchpad_archive", fmt.Sprintf("%d lines", len(textedit.Lines(f.Data))))
	}
	f := r.file("SCRATCHPAD.md")
	if f == nil {
		return
	}
	r.beat = r.past(f.Changed.UTC())
	r.scratch = lastEntry(textedit.Lines(f.Data))
	r.fact("scratchpad", r.scratch)
	if !r.beat.IsZero() {
		r.fact("heartbeat", r.beat.Format("2006-01-02T15:04:05Z"))
	}
}

// mostOfEntry is how much of the last entry is kept, in bytes.
const mostOfEntry = 1000

// lastEntry returns the last paragraph, bullet or section of a text. Pawl's own sign of life is none.
func lastEntry(lines []textedit.Line) string {
	end := len(lines)
	for end > 0 && (strings.TrimSpace(lines[end-1].Text) == "" || strings.HasPrefix(lines[end-1].Text, beatLead)) {
		end--
	}
	begin := end
	for begin > 0 && strings.TrimSpace(lines[begin-1].Text) != "" {
		begin--
		if _, bullet := markdown.Bullet(lines[begin].Text); bullet && indentOf(lines[begin].Text) == 0 || strings.HasPrefix(lines[begin].Text, "#") {
			break
		}
	}
	text := markdown.Join(lines[begin:end])
	if len(text) > mostOfEntry {
		text = strings.ToValidUTF8(text[:mostOfEntry], "") + "…"
	}
	return text
}
