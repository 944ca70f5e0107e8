package liveview

import (
	"bytes"
	"strings"
	"testing"

	"pawl/internal/cli/layout"
	"pawl/test/terminal"
)

// onScreen is a screen whose terminal is interpreted.
type onScreen struct {
	*screen
	*testing.T
	terminal *terminal.Screen
	width    int
	written  *counter
}

// counter passes on what is written, as a terminal's driver does, and counts it.
type counter struct {
	*terminal.Screen
	bytes int
}

func (c *counter) Write(data []byte) (int, error) {
	c.bytes += len(data)
	_, err := c.Screen.Write(bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n")))
	return len(data), err
}

func newOnScreen(t *testing.T, width int) *onScreen {
	o := &onScreen{T: t, terminal: terminal.NewScreen(width, 24), width: width}
	o.written = &counter{Screen: o.terminal}
	o.screen = &screen{out: o.written, colours: true, size: func() (int, int) { return o.width, 24 }}
	return o
}

func (o *onScreen) resize(width int) {
	o.width = width
	o.terminal.Resize(width, 24)
}

func (o *onScreen) wants(text string) {
	o.Helper()
	if got := o.terminal.String(); got != text {
		o.Errorf("on the screen:\n%s\nwant:\n%s", got, text)
	}
	if unknown := o.terminal.Unknown(); len(unknown) > 0 {
		o.Errorf("unknown sequences %q", unknown)
	}
}

func plain(texts ...string) []layout.Line {
	var lines []layout.Line
	for _, text := range texts {
		lines = append(lines, layout.Line{{Text: text, Colour: layout.Green}})
	}
	return lines
}

// TestScreen: lines are redrawn in place, below what is printed. What does not change is not written again.
func TestScreen(t *testing.T) {
	t.Parallel()
	s := newOnScreen(t, 40)
	s.draw(plain("a 1s", "b 1s", "run"))
	s.wants("a 1s\nb 1s\nrun\n")
	s.draw(plain("a 2s", "b 2s and more", "run"))
	s.wants("a 2s\nb 2s and more\nrun\n")
	before := s.written.bytes
	s.draw(plain("a 2s", "b 2s and more", "run"))
	if s.written.bytes != before {
		t.Errorf("%d bytes for no change", s.written.bytes-before)
	}
	s.draw(plain("a 2s", "b 3s", "run"))
	if n := s.written.bytes - before; n > 40 {
		t.Errorf("%d bytes for one line", n)
	}
	s.print(plain("a done", strings.Repeat("long ", 20)+"line"), plain("b 4s", "run"))
	s.wants("a done\n" + strings.Repeat("long ", 20) + "line\nb 4s\nrun\n")
	s.draw(plain("run"))
	s.wants("a done\n" + strings.Repeat("long ", 20) + "line\nrun\n")
	s.draw(nil)
	s.wants("a done\n" + strings.Repeat("long ", 20) + "line\n")
}

// TestScreenEcho: what the terminal echoes below the lines, as it does for Ctrl-C, moves nothing.
func TestScreenEcho(t *testing.T) {
	t.Parallel()
	s := newOnScreen(t, 40)
	s.draw(plain("a 1s", "run"))
	s.written.Write([]byte("^C"))
	s.draw(plain("a 2s", "run"))
	s.print(plain("pawl: interrupted"), plain("a 3s", "run"))
	s.wants("pawl: interrupted\na 3s\nrun\n")
}

// TestScreenResized: after a resize the lines stand there once, as wide as the terminal.
func TestScreenResized(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0123456789", 8)
	s := newOnScreen(t, 100)
	s.print(plain("first"), plain(long, "run"))
	for _, width := range []int{30, 17, 60, 100, 25} {
		s.resize(width)
		s.draw(plain(long, "run"))
		want := "first\n" + long + "\nrun\n"
		if width <= 80 {
			want = "first\n" + long[:width-2] + "…\nrun\n"
		}
		s.wants(want)
		s.draw(plain("x", "run"))
		s.wants("first\nx\nrun\n")
		s.draw(plain(long, "run"))
	}
}

// TestScreenWide: a wide character takes two columns, and an accent none.
func TestScreenWide(t *testing.T) {
	t.Parallel()
	s := newOnScreen(t, 12)
	for range 3 {
		s.draw(plain("漢字漢字漢字漢字", "a漢字漢字漢字漢字", "run"))
		s.draw(plain("e\u0301e\u0301 漢字", "b", "run"))
		s.draw(plain("漢字漢字漢字漢字", "a漢字漢字漢字漢字", "run"))
	}
	s.wants("漢字漢字漢…\na漢字漢字…\nrun\n")
	s.resize(9)
	s.draw(plain("漢字漢字漢字漢字", "a漢字漢字漢字漢字", "run"))
	s.wants("漢字漢…\na漢字漢…\nrun\n")
}

// TestScreenFilter: control characters in texts are shown, not obeyed.
func TestScreenFilter(t *testing.T) {
	t.Parallel()
	s := newOnScreen(t, 60)
	s.print(plain("one\x1b[2Jtwo"), plain("three\x1b[5Afour"))
	s.wants(`one\u001b[2Jtwo` + "\n" + `three\u001b[5Afour` + "\n")
}
