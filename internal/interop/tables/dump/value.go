package dump

import (
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Value is a value of a column.
type Value struct {
	Kind Kind
	Text string // of a string its content, else as written
}

// Kind is the kind of a value.
type Kind byte

// The kinds of values. In the lines of a COPY all that is not null is text.
const (
	Null Kind = iota
	Text
	Number
	Bool
	Blob       // in hexadecimal digits
	Expression // only a database can evaluate it: now()
)

// TextOf returns a string as a value.
func TextOf(text string) Value { return Value{Kind: Text, Text: text} }

// cell returns the value of some words. at is the offset if there are none.
func (p *parser) cell(words []token, at int) Cell {
	c := Cell{from: at, to: at}
	if len(words) > 0 {
		c.from, c.to = words[0].from, words[len(words)-1].to
	}
	if i := cast(words); i > 0 { // only the value before the cast counts
		words, c.to = words[:i], words[i-1].to
	}
	value, known := literal(words, 0)
	if !known {
		value = Value{Kind: Expression, Text: string(p.scanner.text[c.from:c.to])}
	}
	c.Value = value
	return c
}

// cast returns the index of a cast to a type, ::text; 0 if there is none, or if more than a type follows.
func cast(words []token) int {
	depth := 0
	for i, w := range words {
		switch {
		case w.is("("):
			depth++
		case w.is(")"):
			depth--
		case i > 0 && depth == 0 && w.is(":") && i+1 < len(words) && words[i+1].is(":"):
			if slices.ContainsFunc(words[i:], notOfType) {
				return 0
			}
			return i
		}
	}
	return 0
}

// notOfType reports whether a word cannot be part of a type's name: character varying(100), "x"[], timestamp with time zone.
func notOfType(w token) bool {
	return w.kind == text || w.kind == blob || w.kind == symbol && !strings.Contains(":.,()[]", w.text)
}

// maxDepth limits the nesting of calls that are evaluated; sqlite3 writes two.
const maxDepth = 8

// literal returns the value of some words, with at most deep nested calls, if it can be known without a database.
func literal(words []token, deep int) (Value, bool) {
	switch {
	case len(words) == 0:
	case len(words) == 1:
		return single(words[0])
	case len(words) == 2 && (words[0].is("-") || words[0].is("+")) && words[1].kind == number:
		return Value{Kind: Number, Text: words[0].text + words[1].text}, true
	case words[0].kind == word && words[1].is("(") && words[len(words)-1].is(")") && deep < maxDepth:
		return call(words[0], arguments(words[2:len(words)-1]), deep+1)
	case words[len(words)-1].kind == text && isType(words[:len(words)-1]):
		return single(words[len(words)-1])
	}
	return Value{}, false
}

// isType reports whether words are a type that may precede a literal without changing it: TIMESTAMP WITH TIME ZONE '…', UUID
// '…'.
func isType(words []token) bool {
	types := []string{"timestamp", "timestamptz", "datetime", "date", "time", "uuid", "json", "jsonb", "text", "varchar"}
	return slices.ContainsFunc(types, words[0].is) && !slices.ContainsFunc(words[1:], func(w token) bool {
		return !slices.ContainsFunc([]string{"with", "without", "time", "zone"}, w.is)
	})
}

func single(w token) (Value, bool) {
	switch {
	case w.kind == text:
		return TextOf(w.text), true
	case w.kind == number:
		return Value{Kind: Number, Text: w.text}, true
	case w.kind == blob:
		return Value{Kind: Blob, Text: w.text}, true
	case w.is("null"):
		return Value{}, true
	case w.is("true"), w.is("false"):
		return Value{Kind: Bool, Text: strings.ToLower(w.text)}, true
	}
	return Value{}, false
}

// call evaluates the functions by which sqlite3 writes strings with line breaks, and package sqlite those with zero bytes.
func call(name token, given [][]token, deep int) (Value, bool) {
	switch {
	case name.is("replace") && len(given) == 3:
		in, ok1 := literal(given[0], deep)
		old, ok2 := literal(given[1], deep)
		by, ok3 := literal(given[2], deep)
		if !ok1 || !ok2 || !ok3 || old.Text == "" || len(in.Text)/len(old.Text)*len(by.Text) > 1<<24 {
			return Value{}, false
		}
		return TextOf(strings.ReplaceAll(in.Text, old.Text, by.Text)), true
	case name.is("char") && len(given) == 1 && len(given[0]) == 1 && given[0][0].kind == number:
		switch given[0][0].text {
		case "10":
			return TextOf("\n"), true
		case "13":
			return TextOf("\r"), true
		}
	case name.is("cast") && len(given) == 1 && len(given[0]) == 3 && given[0][0].kind == blob && given[0][1].is("as") && given[0][2].is("text"):
		b, err := hex.DecodeString(given[0][0].text)
		return TextOf(string(b)), err == nil
	case name.is("cast") && len(given) == 1:
		if i := typeAt(given[0]); i > 0 && given[0][0].kind != blob {
			return literal(given[0][:i], deep)
		}
	case name.is("unistr") && len(given) == 1 && len(given[0]) == 1 && given[0][0].kind == text:
		return TextOf(unistr(given[0][0].text)), true
	}
	return Value{}, false
}

// typeAt returns where the type of a CAST begins: after the last AS, since the value can contain casts.
func typeAt(words []token) int {
	for i, w := range slices.Backward(words) {
		if w.is("as") {
			return i
		}
	}
	return 0
}

// unistr evaluates unistr of SQLite and PostgreSQL: \XXXX, \uXXXX, \+XXXXXX, \UXXXXXXXX, \\.
func unistr(escaped string) string {
	var out strings.Builder
	for i := 0; i < len(escaped); i++ {
		if escaped[i] != '\\' || i+1 == len(escaped) {
			out.WriteByte(escaped[i])
			continue
		}
		skip, digits := 1, 0
		switch c := escaped[i+1]; {
		case c == '\\':
			out.WriteByte(c)
			i++
			continue
		case c == 'u':
			skip, digits = 2, 4
		case c == '+':
			skip, digits = 2, 6
		case c == 'U':
			skip, digits = 2, 8
		default:
			digits = 4
		}
		r, ok := fromHex(escaped[min(i+skip, len(escaped)):], digits)
		if !ok {
			out.WriteByte('\\')
			continue
		}
		out.WriteRune(r)
		i += skip + digits - 1
	}
	return out.String()
}

func fromHex(s string, digits int) (rune, bool) {
	if len(s) < digits {
		return 0, false
	}
	r, err := strconv.ParseUint(s[:digits], 16, 32)
	return rune(r), err == nil && r <= utf8.MaxRune
}

// arguments returns the arguments of a call.
func arguments(words []token) [][]token {
	var list [][]token
	from, depth := 0, 0
	for i, w := range words {
		switch {
		case w.is("("):
			depth++
		case w.is(")"):
			depth--
		case w.is(",") && depth == 0:
			list = append(list, words[from:i])
			from = i + 1
		}
	}
	return append(list, words[from:])
}

// uncopied returns the value of a field of a COPY.
func uncopied(field []byte) Value {
	if string(field) == `\N` {
		return Value{}
	}
	var out []byte
	for i := 0; i < len(field); i++ {
		if field[i] == '\\' && i+1 < len(field) {
			i++
			out = append(out, unescape(field[i]))
			continue
		}
		out = append(out, field[i])
	}
	return TextOf(string(out))
}
