package jsonedit

import (
	"bytes"
	"fmt"
	"strings"
)

// scanner reads one text.
type scanner struct {
	text   []byte
	at     int
	wrong  string // the first thing that is
	failed int    // where
}

// deepest is how deep values may be nested.
const deepest = 10_000

func (s *scanner) fail(format string, args ...any) {
	if s.wrong == "" {
		s.wrong, s.failed = fmt.Sprintf(format, args...), s.at
	}
}

func (s *scanner) space() {
	for s.at < len(s.text) && strings.IndexByte(" \t\r\n", s.text[s.at]) >= 0 {
		s.at++
	}
}

// peek returns the next byte; 0 at the end.
func (s *scanner) peek() byte {
	if s.at < len(s.text) {
		return s.text[s.at]
	}
	return 0
}

// take goes over the next byte if it is c.
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
		s.fail("values are nested more than %d deep", deepest)
	case s.at >= len(s.text):
		s.fail("it ends where a value was expected")
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
	for s.wrong == "" {
		v.Members = append(v.Members, s.member(depth))
		if !s.another('}', "member") {
			return
		}
	}
}

func (s *scanner) member(depth int) Member {
	m := Member{From: s.at}
	if s.peek() != '"' {
		s.fail("a key in quotes was expected")
		return m
	}
	s.str()
	if s.wrong != "" {
		return m
	}
	m.Key = unquote(s.text[m.From:s.at])
	s.space()
	if !s.take(':') {
		s.fail("a colon was expected behind the key")
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
	for s.wrong == "" {
		v.Items = append(v.Items, s.value(depth+1))
		if !s.another(']', "element") {
			return
		}
	}
}

// another goes over the comma in front of another element, or over the end, and reports which.
func (s *scanner) another(end byte, what string) bool {
	if s.wrong != "" {
		return false
	}
	s.space()
	if s.take(end) {
		return false
	}
	if !s.take(',') {
		s.fail("a comma or %c was expected behind the %s", end, what)
		return false
	}
	s.space()
	return true
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
	s.fail("a value was expected here")
}

// str goes over a string.
func (s *scanner) str() {
	for s.at++; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; {
		case c == '"':
			s.at++
			return
		case c < ' ':
			s.fail("a control character stands in a string without an escape")
			return
		case c == '\\':
			if s.at++; !s.escape() {
				return
			}
		}
	}
	s.fail("a string is not closed")
}

// escape goes to the last byte of what follows a backslash.
func (s *scanner) escape() bool {
	if s.peek() == 'u' {
		for range 4 {
			if s.at++; !isHex(s.peek()) {
				s.fail("four hexadecimal digits were expected behind \\u")
				return false
			}
		}
		return true
	}
	if s.at >= len(s.text) || strings.IndexByte(`"\/bfnrt`, s.text[s.at]) < 0 {
		s.fail("there is no such escape")
		return false
	}
	return true
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// number goes over a number: -, digits without a leading 0, fraction, exponent.
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
		s.fail("a digit was expected here")
	}
}
