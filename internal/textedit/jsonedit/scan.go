package jsonedit

import (
	"bytes"
	"fmt"
	"strings"
)

// scanner parses one text.
type scanner struct {
	text   []byte
	jsonc  bool // accept comments, and a comma after the last element
	at     int
	wrong  string // the first error
	failed int    // its offset
}

// deepest is the limit of nesting.
const deepest = 10_000

func (s *scanner) fail(format string, args ...any) {
	if s.wrong == "" {
		s.wrong, s.failed = fmt.Sprintf(format, args...), s.at
	}
}

// space skips white space, and comments where they are allowed.
func (s *scanner) space() {
	for s.at < len(s.text) {
		switch c := s.text[s.at]; {
		case strings.IndexByte(" \t\r\n", c) >= 0:
			s.at++
		case c == '/' && s.jsonc:
			end := endOfComment(s.text, s.at)
			if end < 0 {
				s.fail("unclosed comment, or a / that begins no comment")
				return
			}
			s.at = end
		default:
			return
		}
	}
}

// peek returns the next byte; 0 at the end.
func (s *scanner) peek() byte {
	if s.at < len(s.text) {
		return s.text[s.at]
	}
	return 0
}

// take skips the next byte if it is c.
func (s *scanner) take(c byte) bool {
	if s.wrong != "" || s.peek() != c || s.at >= len(s.text) {
		return false
	}
	s.at++
	return true
}

func (s *scanner) value(depth int) *Value {
	v := &Value{From: s.at, text: s.text}
	switch c := s.peek(); {
	case depth > deepest:
		s.fail("values are nested more than %d levels deep", deepest)
	case s.at >= len(s.text):
		s.fail("unexpected end, expected a value")
	case c == '{':
		s.object(v, depth)
	case c == '[':
		s.array(v, depth)
	case c == '"':
		v.Kind = String
		s.str()
	case c == '-' || c >= '0' && c <= '9':
		v.Kind = Number
		s.number()
	default:
		s.word(v)
	}
	v.To = s.at
	return v
}

func (s *scanner) object(v *Value, depth int) {
	v.Kind = Object
	s.at++
	s.space()
	if s.take('}') {
		return
	}
	for !s.unclosed(v) {
		m := s.member(depth)
		v.Members = append(v.Members, m)
		if !s.another(v, '}', "member", m.Value) {
			return
		}
	}
}

func (s *scanner) member(depth int) Member {
	m := Member{From: s.at}
	if s.peek() != '"' {
		s.fail("expected a key in double quotes")
		return m
	}
	s.str()
	if s.wrong != "" {
		return m
	}
	m.Key = unquote(s.text[m.From:s.at])
	s.space()
	if !s.take(':') {
		s.fail("expected : after the key")
		return m
	}
	s.space()
	m.Value = s.value(depth + 1)
	return m
}

func (s *scanner) array(v *Value, depth int) {
	v.Kind = Array
	s.at++
	s.space()
	if s.take(']') {
		return
	}
	for !s.unclosed(v) {
		item := s.value(depth + 1)
		v.Items = append(v.Items, item)
		if !s.another(v, ']', "element", item) {
			return
		}
	}
}

// unclosed fails at the end of the text, in the middle of a container. It reports whether the scan has failed.
func (s *scanner) unclosed(in *Value) bool {
	if s.wrong == "" && s.at >= len(s.text) {
		s.fail("unexpected end, the %c of line %d is not closed", s.text[in.From], in.Line())
	}
	return s.wrong != ""
}

// another skips the comma after an element, or the end of the container, and reports whether another element follows.
func (s *scanner) another(in *Value, end byte, what string, element *Value) bool {
	s.space()
	if s.unclosed(in) || s.take(end) {
		return false
	}
	if !s.take(',') {
		s.fail("expected , or %c after the %s", end, what)
		return false
	}
	element.comma = s.at - 1
	s.space()
	return !s.jsonc || !s.take(end)
}

func (s *scanner) word(v *Value) {
	for _, w := range []struct {
		text string
		kind Kind
	}{{"true", Bool}, {"false", Bool}, {"null", Null}} {
		if bytes.HasPrefix(s.text[s.at:], []byte(w.text)) {
			v.Kind = w.kind
			s.at += len(w.text)
			return
		}
	}
	s.fail("expected a value")
}

// str scans a string.
func (s *scanner) str() {
	for s.at++; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; {
		case c == '"':
			s.at++
			return
		case c < ' ':
			s.fail("unescaped control character or line end in a string")
			return
		case c == '\\':
			if s.at++; !s.escape() {
				return
			}
		}
	}
	s.fail("unclosed string")
}

// escape scans an escape after its backslash, up to its last byte.
func (s *scanner) escape() bool {
	if s.peek() == 'u' {
		for range 4 {
			if s.at++; !isHex(s.peek()) {
				s.fail("expected four hexadecimal digits after \\u")
				return false
			}
		}
		return true
	}
	if s.at >= len(s.text) || strings.IndexByte(`"\/bfnrt`, s.text[s.at]) < 0 {
		s.fail("unknown escape")
		return false
	}
	return true
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// number scans a number: sign, digits without a leading 0, fraction, exponent.
func (s *scanner) number() {
	s.take('-')
	if !s.take('0') {
		s.digits()
	}
	if s.take('.') {
		s.digits()
	}
	if s.take('e') || s.take('E') {
		if !s.take('+') {
			s.take('-')
		}
		s.digits()
	}
}

func (s *scanner) digits() {
	from := s.at
	for c := s.peek(); c >= '0' && c <= '9'; c = s.peek() {
		s.at++
	}
	if s.at == from {
		s.fail("expected a digit")
	}
}
