// Package terminal is a terminal for tests: what a person would see on it, and a program that runs at it.
package terminal

import (
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"
)

// Screen interprets what a program writes to a terminal: text, the sequences that pawl uses, and the wrapping of long lines. Other
// sequences are listed in Unknown. When its width changes, it wraps lines anew, as most terminals do.
type Screen struct {
	mu            sync.Mutex
	width, height int
	rows          []row // all that was ever written; the last height rows are visible
	x, y          int
	rest          []byte // the start of a sequence or character
	unknown       []string
}

// row is a row of cells. The second cell of a wide character is empty.
type row struct {
	cells   []string
	wrapped bool // the line continues in the next row
}

// NewScreen returns an empty screen.
func NewScreen(width, height int) *Screen {
	return &Screen{width: width, height: height, rows: make([]row, 1)}
}

// Resize changes the size.
func (s *Screen) Resize(width, height int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var rows []row
	cursor := 0
	for i := 0; i < len(s.rows); i++ {
		first, line := i, s.rows[i].cells
		for s.rows[i].wrapped && i+1 < len(s.rows) {
			i++
			line = append(line[:len(line):len(line)], s.rows[i].cells...)
		}
		if s.y >= first && s.y <= i {
			cursor = len(rows) + s.y - first
		}
		rows = append(rows, wrap(line, width)...)
	}
	s.rows, s.y, s.width, s.height = rows, min(cursor, len(rows)-1), width, height
}

// wrap distributes the cells of a line among rows.
func wrap(line []string, width int) []row {
	var rows []row
	for len(line) > width {
		rows, line = append(rows, row{line[:width:width], true}), line[width:]
	}
	return append(rows, row{cells: line})
}

// Write implements io.Writer.
func (s *Screen) Write(data []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := append(s.rest, data...)
	for len(text) > 0 {
		n := s.next(text)
		if n == 0 {
			break
		}
		text = text[n:]
	}
	s.rest = append([]byte(nil), text...)
	return len(data), nil
}

// next interprets the first character or sequence and returns its length; 0 if the end is missing.
func (s *Screen) next(text []byte) int {
	switch text[0] {
	case '\r':
		s.x = 0
	case '\n':
		s.down()
	case '\b':
		s.x = max(0, s.x-1)
	case '\a':
	case '\t':
		s.x = min(s.width-1, s.x/8*8+8)
	case '\x1b':
		return s.sequence(text)
	default:
		if !utf8.FullRune(text) {
			return 0
		}
		r, n := utf8.DecodeRune(text)
		s.put(r)
		return n
	}
	return 1
}

func (s *Screen) down() {
	s.y++
	if s.y == len(s.rows) {
		s.rows = append(s.rows, row{})
	}
}

func (s *Screen) put(r rune) {
	cells := 1
	if r >= 0x1100 && r <= 0x115f || r >= 0x2e80 && r <= 0xa4cf || r >= 0xac00 && r <= 0xd7a3 || r >= 0xf900 && r <= 0xfaff || r >= 0xff00 && r <= 0xff60 || r >= 0x1f300 && r <= 0x1faff {
		cells = 2
	}
	if s.x+cells > s.width {
		s.rows[s.y].wrapped = true
		s.x = 0
		s.down()
	}
	at := &s.rows[s.y]
	for len(at.cells) < s.x+cells {
		at.cells = append(at.cells, " ")
	}
	at.cells[s.x] = string(r)
	for i := 1; i < cells; i++ {
		at.cells[s.x+i] = ""
	}
	s.x += cells
}

// sequence interprets a control sequence: ESC [ parameters letter.
func (s *Screen) sequence(text []byte) int {
	if len(text) < 2 {
		return 0
	}
	if text[1] != '[' {
		s.unknown = append(s.unknown, fmt.Sprintf("%q", text[:2]))
		return 2
	}
	end := 2
	for end < len(text) && (text[end] < '@' || text[end] > '~') {
		end++
	}
	if end == len(text) {
		return 0
	}
	parameters := string(text[2:end])
	n := 1
	_, _ = fmt.Sscan(parameters, &n)
	switch sequence := string(text[end]); {
	case sequence == "A":
		s.y = max(0, max(len(s.rows)-s.height, s.y-n)) // the cursor stays on the screen
	case sequence == "K" && parameters == "":
		s.rows[s.y].clear(s.x)
	case sequence == "J" && parameters == "":
		s.rows[s.y].clear(s.x)
		s.rows = s.rows[:s.y+1]
	case sequence == "m":
	default:
		s.unknown = append(s.unknown, fmt.Sprintf("%q", text[:end+1]))
	}
	return end + 1
}

func (r *row) clear(from int) { r.cells, r.wrapped = r.cells[:min(len(r.cells), from)], false }

// String returns what is on the screen and what has scrolled off it, without spaces at the ends of lines.
func (s *Screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	line := ""
	for _, r := range s.rows {
		line += strings.Join(r.cells, "")
		if !r.wrapped {
			b.WriteString(strings.TrimRight(line, " ") + "\n")
			line = ""
		}
	}
	return strings.TrimRight(b.String()+line, "\n") + "\n"
}

// Unknown returns the sequences that the screen does not know.
func (s *Screen) Unknown() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unknown
}
