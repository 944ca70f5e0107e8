package notebook

import (
	"strings"
	"unicode/utf8"
)

// maxRewritten is the length of a line, in characters, up to which \r and \b rewrite it.
const maxRewritten = 1 << 16

// screen is the text of a stream as a terminal shows it: what follows \r or \b overwrites what is there. A progress bar is
// one line, however often it is drawn. ANSI colors stay.
//
// A line is copied until it has a \r or \b. From then to its end it is a list of characters.
type screen struct {
	text []byte
	line int // where the last line of text begins

	rewriting bool // the last line is in glyphs, and not in text
	glyphs    []glyph
	cursor    int
	style     string // the colors of the next character, as the escapes that set them since the last reset; "": those of the line's start
	escape    string // an escape sequence whose end is missing
	held      bool   // a \r follows the text, and what follows that is missing
}

// glyph is a character, or an escape sequence that is no color, with its colors.
type glyph struct {
	char  rune
	other string
	style string
}

const reset = "\x1b[0m"

// size returns how long the text is; a line that is rewritten counts one byte for each character.
func (s *screen) size() int { return len(s.text) + len(s.glyphs) + len(s.escape) }

// write adds text at the cursor.
func (s *screen) write(text string) {
	if s.held && text != "" {
		s.held, text = false, "\r"+text
	}
	for text != "" {
		if s.rewriting {
			text = s.rewrite(text)
			continue
		}
		i := strings.IndexAny(text, "\n\r\b")
		switch {
		case i < 0:
			s.text = append(s.text, text...)
			return
		case text[i] == '\n':
			s.text = append(s.text, text[:i+1]...)
			s.line, text = len(s.text), text[i+1:]
		case strings.HasPrefix(text[i:], "\r\n"):
			s.text = append(append(s.text, text[:i]...), '\n')
			s.line, text = len(s.text), text[i+2:]
		case text[i:] == "\r":
			s.text, s.held = append(s.text, text[:i]...), true
			return
		case len(s.text)+i-s.line > maxRewritten:
			s.text, text = append(s.text, text[:i+1]...), text[i+1:]
		default:
			s.text = append(s.text, text[:i]...)
			s.begin()
			text = text[i:]
		}
	}
}

// begin begins to rewrite the last line.
func (s *screen) begin() {
	line := string(s.text[s.line:])
	s.text, s.rewriting, s.glyphs, s.cursor, s.style, s.escape = s.text[:s.line], true, nil, 0, "", ""
	s.rewrite(line)
}

// end ends rewriting: the line is text again.
func (s *screen) end() {
	s.text, s.rewriting, s.glyphs, s.escape = s.append(s.text), false, nil, ""
}

// rewrite writes text up to the end of the line, and returns the rest.
func (s *screen) rewrite(text string) string {
	text, s.escape = s.escape+text, ""
	for i := 0; i < len(text); {
		c, size := utf8.DecodeRuneInString(text[i:])
		switch c {
		case '\n':
			s.end()
			s.text = append(s.text, '\n')
			s.line = len(s.text)
			return text[i+1:]
		case '\r':
			s.cursor = 0
		case '\b':
			s.cursor = max(0, s.cursor-1)
		case '\x1b':
			if size = escapeLength(text[i:]); size == 0 {
				s.escape = text[i:]
				return ""
			}
			s.control(text[i : i+size])
		default:
			s.put(glyph{char: c})
		}
		if i += size; s.cursor > maxRewritten {
			s.end()
			return text[i:]
		}
	}
	return ""
}

func (s *screen) put(g glyph) {
	g.style = s.style
	if s.cursor < len(s.glyphs) {
		s.glyphs[s.cursor] = g
	} else {
		s.glyphs = append(s.glyphs, g)
	}
	s.cursor++
}

// control follows an escape sequence.
func (s *screen) control(seq string) {
	const maxStyle = 256 // more colors in a row are a program that never resets them
	switch seq {
	case "\x1b[K", "\x1b[0K":
		s.glyphs = s.glyphs[:min(s.cursor, len(s.glyphs))]
		return
	case "\x1b[1K", "\x1b[2K":
		for i := range min(s.cursor, len(s.glyphs)) {
			s.glyphs[i] = glyph{char: ' '}
		}
		if seq == "\x1b[2K" {
			s.glyphs = s.glyphs[:min(s.cursor, len(s.glyphs))]
		}
		return
	case "\x1b[m", reset:
		s.style = reset
		return
	}
	switch {
	case !strings.HasPrefix(seq, "\x1b[") || !strings.HasSuffix(seq, "m"):
		s.put(glyph{other: seq})
	case len(s.style)+len(seq) > maxStyle:
		s.style = reset + seq
	default:
		s.style += seq
	}
}

// escapeLength returns the length of the escape sequence at the start of text, 0 if its end is missing. One without an end that a
// terminal would accept is only the escape character.
func escapeLength(text string) int {
	const maxEscape = 1 << 10
	switch {
	case len(text) < 2:
		return 0
	case text[1] == '[':
		for i := 2; i < len(text); i++ {
			if c := text[i]; c >= 0x40 && c <= 0x7e {
				return i + 1
			} else if c < 0x20 || c > 0x7e {
				return 1
			}
		}
	case text[1] == ']': // a title or a link, up to BEL or ESC \
		switch i := 2 + strings.IndexAny(text[2:], "\a\x1b\n\r"); {
		case i < 2:
		case text[i] == '\a':
			return i + 1
		case text[i] != '\x1b':
			return 1
		case i+1 < len(text):
			return i + 2
		}
	default:
		return 1
	}
	if len(text) > maxEscape {
		return 1
	}
	return 0
}

// append appends the line that is being rewritten, with the escapes that set the colors.
func (s *screen) append(text []byte) []byte {
	style := ""
	change := func(to string) {
		if rest, extends := strings.CutPrefix(to, style); extends {
			text = append(text, rest...)
		} else {
			text = append(append(text, reset...), strings.TrimPrefix(to, reset)...)
		}
		style = to
	}
	for _, g := range s.glyphs {
		change(g.style)
		if g.other != "" {
			text = append(text, g.other...)
		} else {
			text = utf8.AppendRune(text, g.char)
		}
	}
	change(s.style)
	return append(text, s.escape...)
}

// String returns the text.
func (s *screen) String() string {
	if !s.rewriting {
		return string(s.text)
	}
	return string(s.append(append(make([]byte, 0, s.size()), s.text...)))
}

// cut removes the text beyond a limit, and returns it.
func (s *screen) cut(limit int) string {
	if s.rewriting {
		s.end()
	}
	for limit > 0 && limit < len(s.text) && !utf8.RuneStart(s.text[limit]) {
		limit--
	}
	if limit >= len(s.text) {
		return ""
	}
	rest := string(s.text[limit:])
	s.text = s.text[:limit]
	s.line = min(s.line, limit)
	return rest
}
