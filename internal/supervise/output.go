package supervise

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/executor/events"
	"pawl/internal/markers"
	"pawl/internal/watchdog"
)

// monitor observes a running task.
type monitor struct {
	tree       *tree
	logs       []*output
	events     *tail
	result     string // path of the result file
	resultSeen os.FileInfo
	start      time.Time
	progressed time.Time // wall clock, for output
	seen       watchdog.Observation
	cpu        time.Duration // of the tree when it was last busy
	measured   time.Time
}

// monitor starts to observe a task that has just been started.
func (s *supervisor) monitor(t task) *monitor {
	w := &monitor{tree: &s.tree, events: s.events, result: filepath.Join(s.dir, pawl.ResultFile), start: time.Now()}
	for _, path := range slices.Compact([]string{t.out, t.err}) {
		w.logs = append(w.logs, &output{tail: tail{path: path}, limit: s.job.OutputCap})
	}
	w.seen.Held = true
	w.cpu = s.tree.reaped()
	return w
}

func (w *monitor) close() {
	for _, l := range w.logs {
		l.close()
	}
}

// poll records what the task has written since the last poll, and trims its output files.
func (w *monitor) poll() {
	now := time.Since(w.start)
	progress := false
	w.events.readLines(func(line []byte) { progress = progress || !isNote(line) })
	for _, l := range w.logs {
		before := l.written()
		l.readLines(func(line []byte) { progress = progress || isMarker(line) })
		if l.written() > before {
			w.seen.Output = now
		}
		l.trim()
	}
	if info, err := disk.Lstat(w.result); err == nil {
		if w.resultSeen == nil || info.ModTime() != w.resultSeen.ModTime() || info.Size() != w.resultSeen.Size() {
			progress = true
		}
		w.resultSeen = info
	}
	if progress {
		w.seen.Progress, w.progressed = now, time.Now().UTC()
	}
}

// assess returns the health of the task.
func (w *monitor) assess(limits watchdog.Limits) watchdog.Assessment {
	w.seen.Now = time.Since(w.start)
	if limits.Stall > 0 && time.Since(w.measured) >= min(limits.Stall/10, measureEvery) {
		w.measure()
	}
	found := watchdog.Assess(w.seen, limits)
	if found.Health == watchdog.Stalled { // it may have become busy since the last measurement
		w.measure()
		found = watchdog.Assess(w.seen, limits)
	}
	return found
}

// measureEvery is the longest interval between measurements of the tree's CPU time for a stall limit.
const measureEvery = 10 * time.Second

// measure records whether the tree uses CPU. If that cannot be measured, the tree counts as busy.
func (w *monitor) measure() {
	w.measured = time.Now()
	cpu, _, err := w.tree.usage()
	if err != nil || watchdog.Busy(cpu-w.cpu, w.seen.Now-w.seen.Busy) {
		w.seen.Busy, w.cpu = w.seen.Now, cpu
	}
}

func (w *monitor) written() int64 {
	var sum int64
	for _, l := range w.logs {
		sum += l.written()
	}
	return sum
}

func (w *monitor) cuts() []pawl.Cut {
	var cuts []pawl.Cut
	for _, l := range w.logs {
		if l.cut.To > 0 {
			cuts = append(cuts, l.cut)
		}
	}
	return cuts
}

func isMarker(line []byte) bool {
	if !bytes.Contains(line, []byte("[")) {
		return false
	}
	m, ok := markers.Parse(string(line), 1)
	return ok && m.Type != "REHYDRATED" // the work did not progress: it continues with the variables that it had
}

// isNote reports whether a line of the events file is not of the step's work, but of the program of pawl that does it.
func isNote(line []byte) bool {
	if !bytes.Contains(line, []byte(`"note"`)) {
		return false
	}
	l, err := events.ParseLine(line)
	return err == nil && l.Progress != nil && l.Progress.Note
}

// tail reads the lines of a growing file.
type tail struct {
	path   string
	file   *os.File
	size   int64 // at the last read
	offset int64 // of the first unread line
}

// readAtOnce is the number of bytes that one call reads. If the file grows faster, lines are skipped.
const readAtOnce = 1 << 20

// readLines calls line with each new complete line, and reports whether there was one. A missing or unreadable file has
// no lines.
func (t *tail) readLines(line func([]byte)) (any bool) {
	if t.file == nil {
		file, err := disk.OpenWritable(t.path)
		if err != nil {
			return false
		}
		t.file = file.File
	}
	info, err := t.file.Stat()
	if err != nil || info.Size() == t.size {
		return false
	}
	t.size = info.Size()
	if t.size < t.offset {
		t.offset = 0 // the step truncated it
	}
	t.offset = max(t.offset, t.size-readAtOnce)
	added := make([]byte, t.size-t.offset)
	n, _ := t.file.ReadAt(added, t.offset)
	for rest := added[:n]; ; any = true {
		end := bytes.IndexByte(rest, '\n')
		if end < 0 {
			return any
		}
		line(rest[:end])
		rest = rest[end+1:]
		t.offset += int64(end) + 1
	}
}

func (t *tail) close() {
	if t.file != nil {
		t.file.Close()
	}
}

// output is an output file, of which at most the first and the last half of limit bytes are kept.
type output struct {
	tail
	limit   int64
	cut     pawl.Cut
	shifted int64 // bytes removed from the file, where holes are not supported
}

// written returns the number of bytes that the task has written.
func (o *output) written() int64 { return o.size + o.shifted }

// trim removes the middle of a file that exceeds the limit, and writes a line there that says so. It punches a hole,
// which leaves all other offsets unchanged. If the file system does not support holes, it truncates the file after the
// first half, and the task appends from there; then less than half of the end is kept.
func (o *output) trim() {
	half := o.limit / 2
	if o.file == nil || o.size <= o.limit {
		return
	}
	err := o.punch(half, o.size-half)
	if errors.Is(err, errors.ErrUnsupported) {
		o.truncate(half)
	}
}

// block is the unit of holes.
const block = 4096

func (o *output) punch(from, to int64) error {
	to = to / block * block
	if to < max(o.cut.To, from)+block {
		return nil
	}
	if err := (disk.File{File: o.file}).PunchHole(max(o.cut.To, from), to); err != nil {
		return err
	}
	return o.mark(pawl.Cut{File: filepath.Base(o.path), From: from, To: to})
}

func (o *output) truncate(half int64) error {
	written := o.written()
	if err := (disk.File{File: o.file}).Truncate(half); err != nil {
		return err
	}
	if err := o.mark(pawl.Cut{File: filepath.Base(o.path), From: half, To: written}); err != nil {
		return err
	}
	info, err := o.file.Stat()
	if err != nil {
		return err
	}
	o.size, o.offset, o.shifted = info.Size(), info.Size(), written-info.Size()
	return nil
}

// mark writes the line about the cut at its start. It overwrites the line of an earlier cut.
func (o *output) mark(cut pawl.Cut) error {
	line := fmt.Sprintf("\n[pawl: output cut here: bytes %d to %d]\n", cut.From, cut.To)
	if _, err := (disk.File{File: o.file}).WriteAt([]byte(line), cut.From); err != nil {
		return err
	}
	o.cut = cut
	return nil
}

// lastOutput returns the last 2 KiB of a file, starting at a line or at least at a character.
func lastOutput(path string) string {
	f, err := disk.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	const size = 2 << 10
	if end, err := f.Seek(0, io.SeekEnd); err == nil {
		f.Seek(max(end-size, 0), io.SeekStart)
	}
	data, err := io.ReadAll(io.LimitReader(f, size))
	if err != nil {
		return ""
	}
	if len(data) == size {
		if _, rest, ok := bytes.Cut(data, []byte("\n")); ok {
			data = rest
		}
	}
	if !utf8.Valid(data) {
		return strings.ToValidUTF8(string(data), "�")
	}
	return string(data)
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
