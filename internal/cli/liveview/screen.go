package liveview

import (
	"fmt"
	"io"
	"strings"

	"golang.org/x/term"

	"pawl/internal/cli/layout"
)

// screen keeps some lines at the end of a terminal and redraws them in place. It writes only what has changed, all at once, so that
// nothing flickers.
type screen struct {
	out     io.Writer
	colours bool
	size    func() (width, height int) // of the terminal; 0: unknown

	shown []string // the lines, as they were written
	cells []int    // their widths
	width int      // of the terminal then
}

// newScreen returns a screen for a terminal.
func newScreen(out io.Writer) *screen {
	s := &screen{out: layout.Unfiltered(out)}
	if f, ok := out.(*layout.Filter); ok {
		s.colours = f.Paint
	}
	s.size = func() (width, height int) {
		if f := layout.File(out); f != nil {
			width, height, _ = term.GetSize(int(f.Fd())) // 0 if unknown
		}
		return width, height
	}
	return s
}

// draw replaces the lines.
func (s *screen) draw(lines []layout.Line) {
	width, _ := s.size()
	rendered, cells := s.render(lines, width)
	var b strings.Builder
	switch resized := width != s.width; {
	case resized || len(rendered) < len(s.shown):
		b.WriteString(s.home(width) + "\x1b[J" + strings.Join(rendered, ""))
	default:
		changed := false
		for i, line := range rendered {
			if i < len(s.shown) && s.shown[i] == line {
				b.WriteString("\n")
				continue
			}
			changed = true
			b.WriteString("\x1b[K" + line)
		}
		if !changed {
			return
		}
		text := s.home(width) + b.String()
		b.Reset()
		b.WriteString(text)
	}
	s.write(b.String(), rendered, cells, width)
}

// print puts lines above the lines that stay.
func (s *screen) print(lines, stay []layout.Line) {
	width, _ := s.size()
	var b strings.Builder
	b.WriteString(s.home(width) + "\x1b[J")
	for _, line := range lines {
		b.WriteString(line.Render(s.colours, 0) + "\n") // a long one takes several rows
	}
	rendered, cells := s.render(stay, width)
	b.WriteString(strings.Join(rendered, ""))
	s.write(b.String(), rendered, cells, width)
}

func (s *screen) write(text string, shown []string, cells []int, width int) {
	_, _ = io.WriteString(s.out, text) // the terminal may be gone
	s.shown, s.cells, s.width = shown, cells, width
}

// render returns lines as they are written, and their widths. Each takes one row: the last column stays free, because some terminals
// wrap there.
func (s *screen) render(lines []layout.Line, width int) (rendered []string, cells []int) {
	for _, line := range lines {
		rendered = append(rendered, line.Render(s.colours, max(0, width-1))+"\n")
		cells = append(cells, layout.Width(line.Render(false, max(0, width-1))))
	}
	return rendered, cells
}

// home returns the sequence that moves the cursor to the first of the lines shown. On a terminal that has become narrower, they have
// been wrapped and take more rows.
func (s *screen) home(width int) string {
	rows := len(s.shown)
	if width > 0 && width < s.width {
		rows = 0
		for _, n := range s.cells {
			rows += max(1, (n+width-1)/width)
		}
	}
	if rows == 0 {
		return "\r"
	}
	return fmt.Sprintf("\r\x1b[%dA", rows)
}
