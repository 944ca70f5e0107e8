package brief

import (
	"strconv"
	"strings"
)

// section is a part of a brief in the making. Its lines are the first of all that there would be.
type section struct {
	title string
	lines []string
	total int    // how many lines there would be
	all   string // the command that shows all of them
}

// more is how many lines are left out.
func (s *section) more() int { return s.total - len(s.lines) }

// maxLines is how many lines of a section are made at all, so that a brief costs the same however long the run is.
const maxLines = 400

// add adds a line, or only counts it where there are enough.
func (s *section) add(lines ...string) {
	for _, line := range lines {
		if len(s.lines) < maxLines {
			s.lines = append(s.lines, line)
		}
		s.total++
	}
}

// render writes a section, and how much of it is not there.
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

// moreLine says that lines are left out, and how to see them.
func (w *writer) moreLine(s *section, n int) string {
	text := "not shown: " + strconv.Itoa(n) + " more under \"" + s.title + "\""
	if s.all != "" {
		text += "; all of them: " + w.code(s.all)
	}
	return text
}

// shares are how many lines each section gets in turn, so that a long one leaves room for those behind it.
var shares = []int{1, 4, 12, maxLines}

// weight is how many shares a section gets: where things stand comes before all else, then what is in doubt and what is
// next.
func weight(i int) int {
	switch i {
	case 0:
		return maxLines
	case 1, 2:
		return 3
	}
	return 1
}

// fitted is what of all sections has room.
type fitted struct {
	taken   []section
	dropped []section // of which not even a line has
	cut     bool
}

// fit takes all there is, or else as much as there is room for: the last sections are dropped until each of the others
// has a line, and then these are filled, the first one first.
func (w *writer) fit(all []section) fitted {
	whole := fitted{taken: all}
	for _, s := range all {
		whole.cut = whole.cut || s.more() > 0
	}
	if w.size(whole) <= w.budget {
		return whole
	}
	for kept := len(all); ; kept-- {
		f, ok := w.fill(all[:kept], all[kept:])
		if ok || kept == 1 {
			return f
		}
	}
}

// size is how long the text would be.
func (w *writer) size(f fitted) int {
	size := len(w.head(f)) + len(w.tail(f))
	for i := range f.taken {
		size += len(w.render(i+1, &f.taken[i]))
	}
	return size
}

// fill gives the kept sections lines in turn while there is room. It reports whether each has got one.
func (w *writer) fill(kept, dropped []section) (fitted, bool) {
	f := fitted{taken: make([]section, len(kept)), dropped: dropped, cut: true}
	for i, s := range kept {
		f.taken[i] = s
		f.taken[i].lines = nil
	}
	room := w.budget - w.size(f)
	each := true
	for _, share := range shares {
		for i := range kept {
			room = w.extend(&f.taken[i], &kept[i], share*weight(i), room)
			each = each && len(f.taken[i].lines) > 0
		}
	}
	return f, each
}

// extend gives a section lines up to its share while there is room, and returns what room is left.
func (w *writer) extend(s, from *section, share, room int) int {
	for len(s.lines) < min(share, len(from.lines)) {
		line := from.lines[len(s.lines)]
		size := len(w.bullet(line))
		if size > room {
			break
		}
		room -= size
		s.lines = append(s.lines, line)
	}
	return room
}
