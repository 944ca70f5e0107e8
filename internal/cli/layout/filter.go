package layout

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// Filter is the writer for everything that commands print: texts may come from plans, steps, agents and files of others, and a
// terminal obeys control characters in them. Filter replaces each by its escape, such as \u001b. JSON stays valid, because these
// escapes have the same meaning there.
type Filter struct {
	Out     io.Writer
	Colours bool // keep colors (SGR sequences) and carriage returns, as in a command's own output
	Paint   bool // Print may color pawl's own texts

	partial []byte // the start of a character or sequence whose end is not yet written
}

// Output returns the writer for the output of a user's command: as it is in a pipe, and with its colors on a terminal.
func Output(w io.Writer) io.Writer {
	f, ok := w.(*Filter)
	switch {
	case !ok:
		return w
	case IsTerminal(f.Out):
		return &Filter{Out: f.Out, Colours: true}
	}
	return f.Out
}

// Unfiltered returns the writer below a Filter, for control sequences of pawl's own.
func Unfiltered(w io.Writer) io.Writer {
	if f, ok := w.(*Filter); ok {
		return f.Out
	}
	return w
}

// File returns the file that w writes to; nil for none.
func File(w io.Writer) *os.File {
	f, _ := Unfiltered(w).(*os.File)
	return f
}

// IsTerminal reports whether w is a terminal that can move its cursor.
func IsTerminal(w io.Writer) bool {
	f := File(w)
	return f != nil && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}

// Visible returns text as Filter prints it.
func Visible(text string) string {
	if plain([]byte(text)) == len(text) {
		return text
	}
	var b strings.Builder
	f := Filter{Out: &b}
	_, _ = f.Write([]byte(text)) // a Builder never fails
	b.Write(f.partial)
	return b.String()
}

// maxSequence is the maximum length of a color sequence in bytes.
const maxSequence = 32

// Write implements io.Writer.
func (f *Filter) Write(text []byte) (int, error) {
	if len(f.partial) == 0 && plain(text) == len(text) {
		return f.Out.Write(text)
	}
	rest := text
	if len(f.partial) > 0 {
		rest = append(f.partial, text...)
		f.partial = nil
	}
	var out bytes.Buffer
	for len(rest) > 0 {
		if n := plain(rest); n > 0 {
			out.Write(rest[:n])
			rest = rest[n:]
			continue
		}
		n := f.next(&out, rest)
		if n == 0 {
			f.partial = bytes.Clone(rest)
			break
		}
		rest = rest[n:]
	}
	if _, err := f.Out.Write(out.Bytes()); err != nil {
		return 0, err
	}
	return len(text), nil
}

// plain returns how many bytes at the start of text are printable ASCII, newlines and tabs.
func plain(text []byte) (n int) {
	for n < len(text) && (text[n] >= 0x20 && text[n] < 0x7f || text[n] == '\n' || text[n] == '\t') {
		n++
	}
	return n
}

// next writes the first character of text, or its first color sequence, and returns its length; 0 if the end is missing.
func (f *Filter) next(out *bytes.Buffer, text []byte) int {
	if text[0] == '\x1b' && f.Colours {
		switch n := colourLength(text); {
		case n > 0:
			out.Write(text[:n])
			return n
		case n == 0 && len(text) < maxSequence:
			return 0
		}
	}
	if text[0] < utf8.RuneSelf {
		f.writeRune(out, rune(text[0]))
		return 1
	}
	if !utf8.FullRune(text) {
		return 0
	}
	r, size := utf8.DecodeRune(text)
	if r == utf8.RuneError && size == 1 {
		if text[0] < 0xa0 { // a control character of 8-bit terminals
			fmt.Fprintf(out, "\\u%04x", text[0])
		} else {
			out.WriteByte(text[0])
		}
		return 1
	}
	f.writeRune(out, r)
	return size
}

func (f *Filter) writeRune(out *bytes.Buffer, r rune) {
	if isControl(r) && !(r == '\r' && f.Colours) {
		fmt.Fprintf(out, "\\u%04x", r)
		return
	}
	out.WriteRune(r)
}

// isControl reports whether a terminal obeys a character, or reorders text by it: C0 except newline and tab, DEL, C1, line and
// paragraph separators, bidirectional controls (Unicode UAX 9).
func isControl(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < 0x20, r >= 0x7f && r < 0xa0:
		return true
	}
	return r == '\u061c' || r == '\u200e' || r == '\u200f' || r >= '\u2028' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
}

// colourLength returns the length of the SGR sequence (ECMA-48) that text starts with; 0 if its end is missing, -1 for another one.
func colourLength(text []byte) int {
	for i, c := range text {
		switch {
		case i == 0:
		case i == 1 && c != '[':
			return -1
		case i == 1 || c >= '0' && c <= '9' || c == ';' || c == ':':
		case c == 'm':
			return i + 1
		default:
			return -1
		}
	}
	return 0
}
