package notebook

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"pawl/internal/kernel"
)

// Recorder folds the messages of a kernel into the outputs of its cells. It is not safe for concurrent use.
type Recorder struct {
	limits   Limits
	spill    Spill
	cells    map[kernel.CellID]*record
	displays map[string][]*display // by display id, in all cells
	widgets  widgets
	changed  map[kernel.CellID]bool
}

// Limits are the limits of outputs in a notebook.
type Limits struct {
	Text     int // bytes of streams in a cell. Defaults to 1 MiB; from 10 KiB to 100 MiB.
	Display  int // bytes of one display. Defaults to 8 MiB.
	Displays int // bytes of all displays of a cell. Defaults to 4 × Display.
}

// The range of Limits.Text.
const (
	MinText = 10 << 10
	MaxText = 100 << 20
)

func (l Limits) withDefaults() Limits {
	if l.Text == 0 {
		l.Text = 1 << 20
	}
	if l.Display == 0 {
		l.Display = 8 << 20
	}
	if l.Displays == 0 {
		l.Displays = 4 * l.Display
	}
	l.Text = min(max(l.Text, MinText), MaxText)
	return l
}

// Spill writes output that a notebook has no room for, and returns the path of the file as the notebook names it. name is the
// base name of a file for the cell. The data belongs at an offset of the file; at 0 it replaces the whole content. So folding the same
// messages again writes the same files. The caller must not keep data.
type Spill func(cell kernel.CellID, name string, offset int64, data []byte) (path string, err error)

// Times are when the kernel executed a cell. Those that are unknown are zero.
type Times struct {
	Busy    time.Time // iopub.status.busy
	Started time.Time // iopub.execute_input
	Idle    time.Time // iopub.status.idle
	Reply   time.Time // shell.execute_reply
}

// record is what a cell has put out.
type record struct {
	id      kernel.CellID
	outputs []entry
	clear   bool // with the next output
	text    int  // bytes of streams in outputs
	full    bool // the rest of its streams goes to files
	shown   int  // bytes of displays in outputs
	files   map[string]*spilled
	named   int // displays so far, for names of files
	count   int
	times   Times
	dropped bool
}

// entry is an output, or several.
type entry interface{ output() Output }

type (
	streamEntry struct {
		name kernel.Stream
		screen
	}
	errorEntry struct{ kernel.Error }

	// spilled is the mark for output in a file.
	spilled struct {
		what  string // such as bytes of stdout
		name  string // of the stream that shows the mark; "" for a display
		path  string
		bytes int64
		count int
		shown bool // in the outputs of the cell
	}
)

// NewRecorder returns a recorder without messages.
func NewRecorder(limits Limits, spill Spill) *Recorder {
	return &Recorder{limits: limits.withDefaults(), spill: spill, cells: map[kernel.CellID]*record{},
		displays: map[string][]*display{}, changed: map[kernel.CellID]bool{}}
}

// Add folds the next message. An error is one of Spill; the output that it had to write is lost, and the mark says so.
func (r *Recorder) Add(m kernel.Message) error {
	if m.Kind == kernel.KindComm {
		r.widgets.add(m.Comm)
		return nil
	}
	if m.Kind == kernel.KindUpdate {
		return r.update(m)
	}
	if m.Cell == "" {
		return nil
	}
	c := r.cell(m.Cell)
	r.changed[m.Cell] = true
	if c.dropped {
		return nil
	}
	if c.clear && slices.Contains([]kernel.Kind{kernel.KindStream, kernel.KindDisplay, kernel.KindResult, kernel.KindError}, m.Kind) {
		r.clear(c)
	}
	switch m.Kind {
	case kernel.KindStream:
		return r.stream(c, m.Stream, m.Text)
	case kernel.KindDisplay, kernel.KindResult:
		return r.display(c, m)
	case kernel.KindError:
		return r.error(c, m.Error)
	case kernel.KindClear:
		if c.clear = m.Wait; !m.Wait {
			r.clear(c)
		}
	default:
		c.status(m)
	}
	return nil
}

func (r *Recorder) cell(id kernel.CellID) *record {
	c := r.cells[id]
	if c == nil {
		c = &record{id: id, files: map[string]*spilled{}}
		r.cells[id] = c
	}
	return c
}

// status keeps what a message says about the execution of its cell.
func (c *record) status(m kernel.Message) {
	switch m.Kind {
	case kernel.KindBusy:
		c.times.Busy = m.Time
	case kernel.KindStarted:
		c.times.Started = m.Time
	case kernel.KindIdle:
		c.times.Idle = m.Time
	case kernel.KindReply:
		c.times.Reply = m.Time
	}
	if m.Count > 0 {
		c.count = m.Count
	}
}

// clear removes the outputs of a cell. What is in files stays there.
func (r *Recorder) clear(c *record) {
	r.unlist(c)
	c.outputs, c.clear, c.text, c.full, c.shown = nil, false, 0, false, 0
	for _, s := range c.files {
		s.shown = false
	}
}

// unlist forgets the display ids of a cell.
func (r *Recorder) unlist(c *record) {
	for _, e := range c.outputs {
		d, ok := e.(*display)
		if !ok || d.id == "" {
			continue
		}
		r.displays[d.id] = slices.DeleteFunc(r.displays[d.id], func(other *display) bool { return other == d })
		if len(r.displays[d.id]) == 0 {
			delete(r.displays, d.id)
		}
	}
}

// Forget frees the outputs of a cell. Later messages of the cell, and updates of its displays, are ignored.
func (r *Recorder) Forget(id kernel.CellID) {
	c := r.cell(id)
	r.unlist(c)
	*c = record{id: id, dropped: true}
	delete(r.changed, id)
}

// Changed returns the cells whose record has changed since the last call, sorted. A message of a forgotten cell counts.
func (r *Recorder) Changed() []kernel.CellID {
	ids := make([]kernel.CellID, 0, len(r.changed))
	for id := range r.changed {
		ids = append(ids, id)
	}
	clear(r.changed)
	slices.Sort(ids)
	return ids
}

// Touch has Changed return a cell, of which more is known than its messages say. A forgotten cell stays forgotten.
func (r *Recorder) Touch(id kernel.CellID) {
	if !r.cell(id).dropped {
		r.changed[id] = true
	}
}

// HasChanged reports whether Changed would return cells.
func (r *Recorder) HasChanged() bool { return len(r.changed) > 0 }

// Times returns when the kernel executed a cell.
func (r *Recorder) Times(id kernel.CellID) Times { return r.cell(id).times }

// Count returns the execution count of a cell, 0 if it is unknown.
func (r *Recorder) Count(id kernel.CellID) int { return r.cell(id).count }

// Outputs returns the outputs of a cell so far. Neighboring outputs of the same stream are one.
func (r *Recorder) Outputs(id kernel.CellID) []Output {
	outputs := []Output{}
	for _, e := range r.cell(id).outputs {
		o := e.output()
		if last := len(outputs) - 1; o.Type == Stream && last >= 0 && outputs[last].Type == Stream && outputs[last].Stream == o.Stream {
			if _, mark := e.(*spilled); mark && outputs[last].Text != "" && outputs[last].Text[len(outputs[last].Text)-1] != '\n' {
				outputs[last].Text += "\n"
			}
			outputs[last].Text += o.Text
			continue
		}
		if d, ok := e.(*display); ok {
			o.Data = r.widgets.noted(o.Data, d)
		}
		outputs = append(outputs, o)
	}
	return outputs
}

// entryCost is what an output counts for beside its text.
const entryCost = 100

// stream adds text to a stream of a cell.
func (r *Recorder) stream(c *record, name kernel.Stream, text string) error {
	const piece = 64 << 10 // what is beyond the limit for a moment
	for text != "" && !c.full {
		n := min(piece, len(text))
		part := text[:n]
		text = text[n:]
		s := c.open(name)
		before := s.size()
		s.write(part)
		if c.text += s.size() - before; c.text <= r.limits.Text {
			continue
		}
		size := s.size()
		rest := s.cut(max(0, size-(c.text-r.limits.Text)))
		c.text, c.full = c.text-size+s.size(), true
		text = rest + text
	}
	if text == "" {
		return nil
	}
	return r.overflow(c, string(name)+".txt", "bytes of "+string(name), string(name), []byte(text))
}

// open returns the last output if it is of the stream, else a new one.
func (c *record) open(name kernel.Stream) *streamEntry {
	if len(c.outputs) > 0 {
		if s, ok := c.outputs[len(c.outputs)-1].(*streamEntry); ok && s.name == name {
			return s
		}
	}
	s := &streamEntry{name: name}
	c.outputs = append(c.outputs, s)
	c.text += entryCost
	return s
}

// overflow appends data to a file, and shows the mark of the file in the cell.
func (r *Recorder) overflow(c *record, file, what, stream string, data []byte) error {
	s := c.files[file]
	if s == nil {
		s = &spilled{what: what, name: stream}
		c.files[file] = s
	}
	if !s.shown {
		s.shown = true
		c.outputs = append(c.outputs, s)
	}
	path, err := r.spill(c.id, file, s.bytes, data)
	s.bytes += int64(len(data))
	s.count++
	if err != nil {
		return fmt.Errorf("write %s of cell %s: %w", file, c.id, err)
	}
	s.path = path
	return nil
}

// error adds the error of a cell. One that is too long is cut, and is in a file.
func (r *Recorder) error(c *record, e *kernel.Error) error {
	const maxFrame, maxFrames = 64 << 10, 60
	if e == nil {
		return nil
	}
	short := kernel.Error{Name: clip(e.Name, maxFrame), Value: clip(e.Value, maxFrame)}
	frames := e.Traceback
	if n := len(frames) - maxFrames; n > 0 {
		frames = slices.Concat(frames[:maxFrames/2], []string{fmt.Sprintf("[pawl: %d more frames]", n)}, frames[len(frames)-maxFrames/2:])
	}
	for _, frame := range frames {
		short.Traceback = append(short.Traceback, clip(frame, maxFrame))
	}
	c.outputs = append(c.outputs, &errorEntry{short})
	if len(frames) == len(e.Traceback) && slices.Equal(short.Traceback, e.Traceback) && short.Value == e.Value && short.Name == e.Name {
		return nil
	}
	whole, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return r.overflow(c, "error.json", "bytes of the error", string(kernel.Stderr), whole)
}

// clip returns the start of a text that is too long.
func clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	s := screen{text: []byte(text)}
	rest := s.cut(limit)
	return fmt.Sprintf("%s [pawl: %s more bytes]", s.text, thousands(int64(len(rest))))
}

func (s *streamEntry) output() Output { return Output{Type: Stream, Stream: s.name, Text: s.String()} }
func (e *errorEntry) output() Output  { return Output{Type: Failure, Error: &e.Error} }

// output returns the mark.
func (s *spilled) output() Output {
	where := "are in " + s.path
	if s.path == "" {
		where = "could not be written"
	}
	if s.name != "" {
		return Output{Type: Stream, Stream: kernel.Stream(s.name), Text: fmt.Sprintf("[pawl: %s more %s %s]\n", thousands(s.bytes), s.what, where)}
	}
	return Output{Type: Display, Data: plainText(fmt.Sprintf("[pawl: %s more %s, %s bytes, %s]", thousands(int64(s.count)), s.what, thousands(s.bytes), where))}
}
