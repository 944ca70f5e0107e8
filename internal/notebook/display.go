package notebook

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pawl/internal/kernel"
)

// display is a display or the result of a cell.
type display struct {
	cell *record
	id   string
	file int // number in the names of its files
	size int
	out  Output
	away bool // it is only in the file for displays without room
}

func (d *display) output() Output { return d.out }

// maxMetadata is the size up to which a display keeps its metadata.
const maxMetadata = 1 << 20

// The file for displays that have no room in the cell: one JSON object a line.
const (
	displaysFile = "displays.jsonl"
	smallest     = 4 << 10 // room for a display whose data is in files
)

// display adds a display, or a result.
func (r *Recorder) display(c *record, m kernel.Message) error {
	c.named++
	d := &display{cell: c, id: m.DisplayID, file: c.named, out: Output{Type: Display}}
	if m.Kind == kernel.KindResult {
		d.out.Type, d.out.Count = Result, m.Count
		if m.Count > 0 {
			c.count = m.Count
		}
	}
	if d.id != "" {
		r.displays[d.id] = append(r.displays[d.id], d)
	}
	if r.limits.Displays-c.shown < smallest && sizeOf(m) > r.limits.Displays-c.shown {
		d.away = true
		return r.putAway(d, m)
	}
	c.outputs = append(c.outputs, d)
	return r.fill(d, m)
}

// update updates the displays with an id, also those of other cells.
func (r *Recorder) update(m kernel.Message) error {
	var failed error
	for _, d := range r.displays[m.DisplayID] {
		r.changed[d.cell.id] = true
		if d.away {
			failed = cmp.Or(failed, r.putAway(d, m))
		} else {
			failed = cmp.Or(failed, r.fill(d, m))
		}
	}
	return failed
}

// putAway appends a display to the file for displays without room.
func (r *Recorder) putAway(d *display, m kernel.Message) error {
	line, err := json.Marshal(struct {
		Display  int                        `json:"display"`
		Data     map[string]json.RawMessage `json:"data"`
		Metadata json.RawMessage            `json:"metadata,omitempty"`
	}{d.file, m.Data, m.Metadata})
	if err != nil {
		return fmt.Errorf("display %d of cell %s: %w", d.file, d.cell.id, err)
	}
	return r.overflow(d.cell, displaysFile, "displays", "", append(line, '\n'))
}

// fill puts the data of a message into a display. The largest parts go to files until the rest has room.
func (r *Recorder) fill(d *display, m kernel.Message) error {
	d.cell.shown -= d.size
	room := max(0, min(r.limits.Display, r.limits.Displays-d.cell.shown)) - entryCost
	data, size, failed := make(map[string]json.RawMessage, len(m.Data)), sizeOf(m), error(nil)
	metadata := m.Metadata
	if len(metadata) > maxMetadata {
		size, metadata = size-len(metadata), nil
	}
	var marks []string
	for _, mime := range bySize(m.Data) {
		value := m.Data[mime]
		if size <= room {
			data[mime] = value
			continue
		}
		mark, err := r.aside(d, mime, value)
		marks, size, failed = append(marks, mark), size-len(value), cmp.Or(failed, err)
	}
	if len(marks) > 0 {
		var text string
		if err := json.Unmarshal(data[textPlain], &text); err == nil && text != "" {
			marks = slices.Insert(marks, 0, text)
		}
		data[textPlain] = plainText(strings.Join(marks, "\n"))[textPlain]
	}
	d.out.Data, d.out.Metadata = data, metadata
	d.size = size + entryCost
	d.cell.shown += d.size
	return failed
}

const textPlain = "text/plain"

// aside writes one part of a display to a file, and returns its mark.
func (r *Recorder) aside(d *display, mime string, value json.RawMessage) (string, error) {
	content := contentOf(mime, value)
	file := "display-" + strconv.Itoa(d.file) + extension(mime)
	path, err := r.spill(d.cell.id, file, 0, content)
	if err != nil {
		return fmt.Sprintf("[pawl: %s, %s bytes, could not be written]", mime, thousands(int64(len(content)))), fmt.Errorf("write %s of cell %s: %w", file, d.cell.id, err)
	}
	return fmt.Sprintf("[pawl: %s, %s bytes, is in %s]", mime, thousands(int64(len(content))), path), nil
}

// contentOf returns the content of a file with one part of a display: a text, the decoded bytes of base64, or JSON.
func contentOf(mime string, value json.RawMessage) []byte {
	var text string
	if isJSON(mime) || json.Unmarshal(value, &text) != nil {
		return value
	}
	if !strings.HasPrefix(mime, "text/") && mime != "image/svg+xml" {
		if decoded, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text)); err == nil {
			return decoded
		}
	}
	return []byte(text)
}

// extension returns the ending of a file's name.
func extension(mime string) string {
	known := map[string]string{
		textPlain: ".txt", "text/html": ".html", "text/markdown": ".md", "text/latex": ".tex", "image/png": ".png", "image/jpeg": ".jpg",
		"image/gif": ".gif", "image/svg+xml": ".svg", "image/webp": ".webp", "application/pdf": ".pdf", "application/javascript": ".js",
	}
	switch {
	case known[mime] != "":
		return known[mime]
	case isJSON(mime):
		return "." + strings.Map(fileCharacter, strings.TrimPrefix(mime, "application/")) + ".json"
	}
	return "." + strings.Map(fileCharacter, mime) + ".bin"
}

// fileCharacter returns a character for a file's name.
func fileCharacter(c rune) rune {
	if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
		return c
	}
	return '-'
}

func sizeOf(m kernel.Message) int {
	size := len(m.Metadata) + entryCost
	for mime, value := range m.Data {
		size += len(mime) + len(value)
	}
	return size
}

// bySize returns the MIME types of data, the largest part first.
func bySize(data map[string]json.RawMessage) []string {
	types := make([]string, 0, len(data))
	for mime := range data {
		types = append(types, mime)
	}
	slices.SortFunc(types, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(data[b]), len(data[a])), strings.Compare(a, b))
	})
	return types
}

// plainText returns the data of a display that is a text.
func plainText(text string) map[string]json.RawMessage {
	encoded, err := json.Marshal(text)
	if err != nil {
		return nil // a string always has JSON
	}
	return map[string]json.RawMessage{textPlain: encoded}
}

// thousands writes 1234567 as 1,234,567.
func thousands(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
