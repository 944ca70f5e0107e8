package dump

import (
	"bytes"
	"strings"
)

// kind is the kind of a token.
type kind byte

const (
	symbol kind = iota // one character
	word               // a name or a keyword
	quoted             // a name in quotes
	text               // a string
	number
	blob // X'…'
)

// token is a word of SQL.
type token struct {
	kind
	from, to int
	text     string // without quotes; of a word as written
	escapes  bool   // a string with backslashes, E'…'
}

// is reports whether a token is this keyword or this character, whatever its case.
func (t token) is(what string) bool {
	return (t.kind == word || t.kind == symbol) && strings.EqualFold(t.text, what)
}

// scanner reads the words of a SQL text.
type scanner struct {
	text    []byte
	at      int
	broken  string // why scanning stopped
	mysql   bool   // strings have backslash escapes, and # begins a comment
	bracket int    // where the last opening bracket may end: at the first ], comma, quote or line end
}

// next returns the next word, past white space and comments.
func (s *scanner) next() (token, bool) {
	s.blank()
	if s.at >= len(s.text) || s.broken != "" {
		return token{}, false
	}
	from, c := s.at, s.text[s.at]
	switch {
	case c == '\'':
		return s.string(from, from, s.mysql)
	case c == '"' || c == '`':
		return s.quotedName(c)
	case c == '[':
		return s.bracketed(), true
	case letter(c):
		for s.at < len(s.text) && (letter(s.text[s.at]) || digit(s.text[s.at])) {
			s.at++
		}
		return s.prefixed(token{kind: word, from: from, to: s.at, text: string(s.text[from:s.at])})
	case digit(c) || c == '.' && digit(s.peek(1)):
		return s.number(), true
	case c == '$':
		if t, ok := s.dollar(); ok || s.broken != "" {
			return t, ok
		}
	}
	s.at++
	return token{from: from, to: s.at, text: string(c)}, true
}

func letter(c byte) bool { return c == '_' || c >= 0x80 || c|0x20 >= 'a' && c|0x20 <= 'z' }
func digit(c byte) bool  { return c >= '0' && c <= '9' }

func (s *scanner) peek(n int) byte {
	if s.at+n < len(s.text) {
		return s.text[s.at+n]
	}
	return 0
}

// blank skips white space and comments.
func (s *scanner) blank() {
	for s.at < len(s.text) {
		switch c := s.text[s.at]; {
		case c == ' ' || c >= '\t' && c <= '\r':
			s.at++
		case c == '-' && s.peek(1) == '-', c == '#' && (s.mysql || s.at == 0 || s.text[s.at-1] == '\n'):
			s.line()
		case c == '/' && s.peek(1) == '*':
			end := bytes.Index(s.text[s.at+2:], []byte("*/"))
			if end < 0 {
				s.at, s.broken = len(s.text), "unterminated comment"
				return
			}
			s.at += end + 4
		default:
			return
		}
	}
}

// line skips the rest of a line.
func (s *scanner) line() {
	if n := bytes.IndexByte(s.text[s.at:], '\n'); n >= 0 {
		s.at += n + 1
		return
	}
	s.at = len(s.text)
}

// prefixed returns a word, or the string that it is the prefix of.
func (s *scanner) prefixed(t token) (token, bool) {
	if s.peek(0) != '\'' || len(t.text) != 1 {
		return t, true
	}
	switch t.text[0] | 0x20 {
	case 'e':
		return s.string(t.from, s.at, true)
	case 'n':
		return s.string(t.from, s.at, false)
	case 'x':
		b, ok := s.string(t.from, s.at, false)
		b.kind = blob
		return b, ok
	}
	return t, true
}

// string reads a string whose quote is at a byte.
func (s *scanner) string(from, quote int, escapes bool) (token, bool) {
	var out []byte
	for i := quote + 1; i < len(s.text); i++ {
		switch c := s.text[i]; {
		case c == '\'' && i+1 < len(s.text) && s.text[i+1] == '\'':
			out = append(out, c)
			i++
		case c == '\'':
			s.at = i + 1
			return token{kind: text, from: from, to: s.at, text: string(out), escapes: escapes}, true
		case c == '\\' && escapes && i+1 < len(s.text):
			if i++; s.mysql {
				out = append(out, unescapeMySQL(s.text[i])...)
			} else {
				out = append(out, unescape(s.text[i]))
			}
		default:
			out = append(out, c)
		}
	}
	s.at, s.broken = from, "unterminated string"
	return token{}, false
}

// unescapeMySQL returns the meaning of a character after a backslash in MySQL.
func unescapeMySQL(c byte) string {
	switch c {
	case '0':
		return "\x00"
	case 'Z':
		return "\x1a"
	case 'f', 'v':
		return string(c)
	case '%', '_':
		return `\` + string(c)
	}
	return string(unescape(c))
}

// isMySQL reports whether a text is a dump of MySQL: by its beginning, or by how it quotes tables.
func isMySQL(text []byte) bool {
	head := text[:min(len(text), 4<<10)]
	for _, mark := range []string{"-- MySQL dump", "-- MariaDB dump", "-- phpMyAdmin", "\n/*!"} {
		if bytes.Contains(head, []byte(mark)) {
			return true
		}
	}
	return bytes.HasPrefix(text, []byte("INSERT INTO `")) || bytes.Contains(text, []byte("\nINSERT INTO `"))
}

// unescape returns the meaning of a character after a backslash.
func unescape(c byte) byte {
	if i := strings.IndexByte("bfnrtv", c); i >= 0 {
		return "\b\f\n\r\t\v"[i]
	}
	return c
}

// bracketed reads a name in brackets, or a bracket that begins no name.
func (s *scanner) bracketed() token {
	from := s.at
	if s.bracket <= from { // search once for any number of opening brackets
		n := bytes.IndexAny(s.text[from:], "],'\n")
		if n < 0 {
			n = len(s.text) - from
		}
		s.bracket = from + n
	}
	if s.bracket == len(s.text) || s.text[s.bracket] != ']' {
		s.at++
		return token{from: from, to: s.at, text: "["}
	}
	s.at = s.bracket + 1
	return token{kind: quoted, from: from, to: s.at, text: string(s.text[from+1 : s.bracket])}
}

func (s *scanner) quotedName(quote byte) (token, bool) {
	from := s.at
	var name []byte
	for i := from + 1; i < len(s.text); i++ {
		switch c := s.text[i]; {
		case c == quote && i+1 < len(s.text) && s.text[i+1] == quote:
			name = append(name, c)
			i++
		case c == quote:
			s.at = i + 1
			return token{kind: quoted, from: from, to: s.at, text: string(name)}, true
		default:
			name = append(name, c)
		}
	}
	s.at, s.broken = from, "unterminated quoted name"
	return token{}, false
}

func (s *scanner) number() token {
	from := s.at
	for s.at < len(s.text) {
		c, before := s.text[s.at], s.text[max(from, s.at-1)]
		if !digit(c) && !letter(c) && c != '.' && (c != '-' && c != '+' || before|0x20 != 'e') {
			break
		}
		s.at++
	}
	return token{kind: number, from: from, to: s.at, text: string(s.text[from:s.at])}
}

// dollar reads a string of PostgreSQL, $tag$…$tag$.
func (s *scanner) dollar() (token, bool) {
	end := s.at + 1
	for end < len(s.text) && (letter(s.text[end]) || digit(s.text[end])) {
		end++
	}
	if end >= len(s.text) || s.text[end] != '$' {
		return token{}, false
	}
	tag := s.text[s.at : end+1]
	n := bytes.Index(s.text[end+1:], tag)
	if n < 0 {
		s.broken = "unterminated string"
		return token{}, false
	}
	t := token{kind: text, from: s.at, to: end + 1 + n + len(tag), text: string(s.text[end+1 : end+1+n])}
	s.at = t.to
	return t, true
}
