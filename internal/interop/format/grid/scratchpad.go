package grid

import (
	"fmt"
	"strings"

	"pawl/internal/textedit"
	"pawl/internal/textedit/markdown"
)

// readScratchpad reads the last entry: what the session worked on when it died. The file's modification time counts as
// activity.
func (r *clusterReader) readScratchpad() {
	if f := r.file("SCRATCHPAD_ARCHIVE.md"); f != nil {
		r.fact("scratchpad_archive", fmt.Sprintf("%d lines", len(textedit.Lines(f.Data))))
	}
	f := r.file("SCRATCHPAD.md")
	if f == nil {
		return
	}
	r.beat = r.notFuture(f.Changed.UTC())
	r.scratch = lastEntry(textedit.Lines(f.Data))
	r.fact("scratchpad", r.scratch)
	if !r.beat.IsZero() {
		r.fact("heartbeat", r.beat.Format("2006-01-02T15:04:05Z"))
	}
}

// maxEntry limits the last entry, in bytes.
const maxEntry = 1000

// lastEntry returns the last paragraph, bullet or section of a text, except pawl's own heartbeat line.
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
	if len(text) > maxEntry {
		text = strings.ToValidUTF8(text[:maxEntry], "") + "…"
	}
	return text
}
