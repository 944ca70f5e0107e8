package jsonc

import (
	"bytes"
	"encoding/json"
	"fmt"

	"pawl/internal/lazyregexp"
)

// reader reads a text from its start. After an error it reads nothing more.
type reader struct {
	text []byte
	at   int
	err  *SyntaxError
}

func (r *reader) fail(at int, text string) {
	if r.err == nil {
		line, column := Position(r.text, at)
		r.err = &SyntaxError{Line: line, Column: column, Text: text}
	}
	r.at = len(r.text)
}

// peek returns the next byte, 0 at the end.
func (r *reader) peek() byte {
	if r.at < len(r.text) {
		return r.text[r.at]
	}
	return 0
}

// space skips whitespace and comments.
func (r *reader) space() {
	for r.at < len(r.text) {
		switch {
		case isSpace(r.text[r.at]):
			r.at++
		case r.text[r.at] != '/':
			return
		default:
			end := comment(r.text, r.at)
			if end < 0 {
				r.fail(r.at, "a comment begins here and does not end, or a / has no meaning: write // or /* … */")
				return
			}
			r.at = end
		}
	}
}

func isSpace(b byte) bool { return b == ' ' || b == '\t' || b == '\n' || b == '\r' }

// comment returns where the comment at a byte ends: a line's before its end, -1 where none begins there or one has no end.
func comment(text []byte, at int) int {
	rest := text[at:]
	switch {
	case bytes.HasPrefix(rest, []byte("//")):
		if n := bytes.IndexAny(rest, "\r\n"); n >= 0 {
			return at + n
		}
		return len(text)
	case bytes.HasPrefix(rest, []byte("/*")):
		if n := bytes.Index(rest[2:], []byte("*/")); n >= 0 {
			return at + 2 + n + 2
		}
	}
	return -1
}

func (r *reader) value(depth int) Value {
	r.space()
	start := r.at
	switch c := r.peek(); {
	case depth > deepest:
		r.fail(start, "values stand too deep in each other")
	case c == '{':
		return r.container(Object, '}', depth)
	case c == '[':
		return r.container(Array, ']', depth)
	case c == '"':
		r.quoted(start)
	default:
		r.literal(start)
	}
	return Value{Start: start, End: r.at}
}

// container reads an object or array up to its closing bracket.
func (r *reader) container(kind Kind, closing byte, depth int) Value {
	v := Value{Kind: kind, Start: r.at}
	r.at++
	for r.err == nil {
		r.space()
		if r.peek() == closing && r.err == nil {
			r.at++
			v.End = r.at
			return v
		}
		n := len(v.Members)
		switch {
		case r.at >= len(r.text):
			line, _ := Position(r.text, v.Start)
			r.fail(r.at, fmt.Sprintf("the file ends, but the %c of line %d is still open: add %c", r.text[v.Start], line, closing))
		case n > 0 && v.Members[n-1].comma < 0:
			r.fail(r.at, fmt.Sprintf("expected , or %c here, behind the value before", closing))
		default:
			v.Members = append(v.Members, r.member(kind, depth))
		}
	}
	return v
}

func (r *reader) member(kind Kind, depth int) Member {
	m := Member{Start: r.at, comma: -1}
	if kind == Object {
		if r.peek() != '"' {
			r.fail(r.at, `expected a key in double quotes, or }`)
			return m
		}
		m.Key = r.quoted(r.at)
		r.space()
		if r.peek() != ':' {
			r.fail(r.at, "expected : behind the key")
			return m
		}
		r.at++
	}
	m.Value = r.value(depth + 1)
	if r.space(); r.peek() == ',' {
		m.comma = r.at
		r.at++
	}
	return m
}

// quoted reads a string, and returns what it says.
func (r *reader) quoted(start int) string {
	for r.at++; r.at < len(r.text) && r.text[r.at] != '"' && r.text[r.at] != '\n'; r.at++ {
		if r.text[r.at] == '\\' {
			r.at++
		}
	}
	if r.at >= len(r.text) || r.text[r.at] != '"' {
		r.fail(start, `this text does not end on its line: add a "`)
		return ""
	}
	r.at++
	var said string
	if err := json.Unmarshal(r.text[start:r.at], &said); err != nil {
		r.fail(start, "this text holds what JSON does not allow: "+err.Error())
	}
	return said
}

var literals = lazyregexp.New(`^(?:true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)`)

// literal reads a number, true, false or null.
func (r *reader) literal(start int) {
	r.at += len(literals.Find(r.text[start:]))
	if r.at < len(r.text) && r.at > start && isWord(r.text[r.at]) {
		r.at = start
	}
	switch {
	case start >= len(r.text):
		r.fail(start, "the file ends where a value should stand")
	case r.at == start:
		r.fail(start, "expected a value: an object, an array, a text in double quotes, a number, true, false or null")
	}
}

func isWord(b byte) bool {
	return b == '.' || b == '+' || b == '-' || b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= 0x80
}
