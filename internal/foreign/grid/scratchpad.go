package grid

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"pawl/internal/foreign/splice"
)

// readScratchpad reads the last entry: what somebody was at when the session died. When the file was last written is a
// sign of life.
func (r *reader) readScratchpad() {
	if f := r.file("SCRATCHPAD_ARCHIVE.md"); f != nil {
		r.fact("scratchpad_archive", fmt.Sprintf("%d lines", len(splice.Lines(f.Data))))
	}
	f := r.file("SCRATCHPAD.md")
	if f == nil {
		return
	}
	r.beat = r.past(f.Changed.UTC())
	r.scratch = lastEntry(splice.Lines(f.Data))
	r.fact("scratchpad", r.scratch)
	if !r.beat.IsZero() {
		r.fact("heartbeat", r.beat.Format("2006-01-02T15:04:05Z"))
	}
}

// mostOfEntry is how much of the last entry is kept, in bytes.
const mostOfEntry = 1000

// lastEntry returns the last paragraph, bullet or section of a text. Pawl's own sign of life is none.
func lastEntry(lines []splice.Line) string {
	end := len(lines)
	for end > 0 && (strings.TrimSpace(lines[end-1].Text) == "" || strings.HasPrefix(lines[end-1].Text, beatLead)) {
		end--
	}
	begin := end
	for begin > 0 && strings.TrimSpace(lines[begin-1].Text) != "" {
		begin--
		if _, bullet := splice.Bullet(lines[begin].Text); bullet && indentOf(lines[begin].Text) == 0 || strings.HasPrefix(lines[begin].Text, "#") {
			break
		}
	}
	text := splice.Join(lines[begin:end])
	if len(text) > mostOfEntry {
		text = strings.ToValidUTF8(text[:mostOfEntry], "") + "…"
	}
	return text
}

// readSettings keeps the settings of a JSON file as facts.
func (r *reader) readSettings(name, prefix string) {
	f := r.file(name)
	if f == nil {
		return
	}
	var settings map[string]any
	decoder := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(f.Data, []byte("\uFEFF"))))
	decoder.UseNumber()
	if err := decoder.Decode(&settings); err != nil {
		r.warn(f.Path, 0, "this is no JSON: "+err.Error(), "")
		return
	}
	r.flatten(prefix, settings)
}

func (r *reader) flatten(name string, value any) {
	const longest = 500 // of a name: what is nested deeper is no setting
	if len(name) > longest {
		return
	}
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			r.flatten(name+"."+key, value[key])
		}
	case []any:
		for i, item := range value {
			r.flatten(name+"."+strconv.Itoa(i+1), item)
		}
	case nil:
	default:
		r.fact(name, fmt.Sprint(value))
	}
}
