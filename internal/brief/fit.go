package brief

import (
	"slices"
	"strconv"
	"strings"
)

// section is a part of an unfinished brief. It holds the first of its lines and counts the rest.
type section struct {
	title string
	lines []string
	size  int    // bytes of lines
	most  int    // further lines are only counted once size exceeds it: they cannot fit the budget. Defaults to no limit.
	total int    // number of lines before any was omitted
	all   string // the command that shows all of them
}

// more is the number of omitted lines.
func (s *section) more() int { return s.total - len(s.lines) }

// maxLines is the maximum number of lines kept for a section, so that the cost of a brief does not grow with the run.
const maxLines = 400

// full reports whether further lines are only counted.
func (s *section) full() bool { return len(s.lines) == maxLines || s.most > 0 && s.size > s.most }

// add adds lines; once the section is full it only counts them.
func (s *section) add(lines ...string) {
	for _, line := range lines {
		if !s.full() {
			s.lines, s.size = append(s.lines, line), s.size+len(line)
		}
		s.total++
	}
}

// addEach adds a line of each element; once the section is full it only counts them.
func addEach[T any](s *section, of []T, line func(T) string) {
	for i := range of {
		if s.full() {
			s.total += len(of) - i
			return
		}
		s.add(line(of[i]))
	}
}

// render writes a section, with the number of omitted lines.
func (w *writer) render(number int, s *section) string {
	var out strings.Builder
	out.WriteString(w.heading(strconv.Itoa(number) + ". " + s.title))
	for _, line := range s.lines {
		out.WriteString(w.bullet(line))
	}
	if n := s.more(); n > 0 {
		out.WriteString(w.bullet(w.moreLine(s, n)))
	}
	return out.String()
}

// moreLine says how many lines are omitted, and how to see them.
func (w *writer) moreLine(s *section, n int) string {
	text := "not shown: " + strconv.Itoa(n) + " more under \"" + s.title + "\""
	if s.all != "" {
		text += "; to see all: " + w.code(s.all)
	}
	return text
}

// shares are the line limits of each section in successive rounds, so that a long section leaves room for the next ones.
var shares = []int{1, 4, 12, maxLines}

// weight multiplies the share of a section: the status comes before all else, then what is in doubt and what is next.
func weight(i int) int {
	switch i {
	case 0:
		return maxLines
	case 1, 2:
		return 3
	}
	return 1
}

// fitted is the part of all sections that fits the budget.
type fitted struct {
	taken   []section
	dropped []section // without any line that fits
	cut     bool
}

// fit returns all sections if they fit the budget. Otherwise it drops sections from the end until each remaining one has a
// line, and fills these in order.
func (w *writer) fit(all []section) fitted {
	whole := fitted{taken: all}
	for _, s := range all {
		whole.cut = whole.cut || s.more() > 0
	}
	if w.size(whole) <= w.budget {
		return whole
	}
	for n := len(all); ; n-- {
		f, ok := w.fill(all[:n], all[n:])
		if ok || n == 1 {
			return f
		}
	}
}

// size returns the length of the text in bytes.
func (w *writer) size(f fitted) int {
	size := len(w.head(f)) + len(w.tail(f))
	for i := range f.taken {
		size += w.length(i+1, &f.taken[i])
	}
	return size
}

// length is the length of what render returns.
func (w *writer) length(number int, s *section) int {
	size := len(w.render(number, &section{title: s.title, all: s.all, total: s.more()}))
	for _, line := range s.lines {
		size += len(w.bullet("")) + len(line)
	}
	return size
}

// fill adds lines to the sections in rounds while there is room. It reports whether each got at least one.
func (w *writer) fill(sections, dropped []section) (fitted, bool) {
	f := fitted{taken: make([]section, len(sections)), dropped: dropped, cut: true}
	for i, s := range sections {
		f.taken[i] = s
		f.taken[i].lines = nil
	}
	room := w.budget - w.size(f)
	for i := range sections { // the first line of each section comes before the second of any
		room = w.extend(&f.taken[i], &sections[i], 1, room)
	}
	each := !slices.ContainsFunc(f.taken, func(s section) bool { return len(s.lines) == 0 })
	for _, share := range shares {
		for i := range sections {
			room = w.extend(&f.taken[i], &sections[i], share*weight(i), room)
		}
	}
	return f, each
}

// extend adds lines to a section up to its share while there is room, and returns the room that is left.
func (w *writer) extend(s, from *section, share, room int) int {
	for len(s.lines) < min(share, len(from.lines)) {
		line := from.lines[len(s.lines)]
		size := len(w.bullet("")) + len(line)
		if size > room {
			break
		}
		room -= size
		s.lines = append(s.lines, line)
	}
	return room
}
