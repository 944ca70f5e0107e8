package stepenv

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Limits of dotenv files.
const (
	MaxDotenv       = 256 << 10 // bytes of a file
	maxDotenvValues = 1000      // variables in a file
)

// Assignment is a variable in a dotenv file.
type Assignment struct {
	Name, Value string
	Line        int
}

// ParseDotenv parses a dotenv file: lines of the form NAME=value, with or without "export". A value is bare text on one line, is
// in single quotes and literal, or is in double quotes with the escapes \n, \r, \t, \", \$ and \\. Quoted values may span lines.
// Dialects of the format disagree about everything else, such as references to other variables, so it is an error. Errors begin
// with line and column; they never contain a value.
func ParseDotenv(data []byte) ([]Assignment, error) {
	if !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
		return nil, fmt.Errorf("1:1: the file is not text in UTF-8")
	}
	p := dotenvParser{text: string(bytes.TrimPrefix(data, []byte("\ufeff"))), line: 1, seen: map[string]int{}}
	for p.at < len(p.text) {
		if err := p.entry(); err != nil {
			return nil, err
		}
	}
	return p.found, nil
}

type dotenvParser struct {
	text  string
	at    int
	line  int
	start int // of the line
	found []Assignment
	seen  map[string]int // name → line
}

func (p *dotenvParser) errorf(format string, args ...any) error {
	column := utf8.RuneCountInString(p.text[p.start:p.at]) + 1
	return fmt.Errorf("%d:%d: %s", p.line, column, fmt.Sprintf(format, args...))
}

// next returns the next byte, 0 at the end.
func (p *dotenvParser) next() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

func (p *dotenvParser) skip(set string) {
	for p.at < len(p.text) && strings.IndexByte(set, p.text[p.at]) >= 0 {
		p.at++
	}
}

// entry parses one line, or several if a quoted value spans them.
func (p *dotenvParser) entry() error {
	p.skip(" \t")
	if c := p.next(); c != '#' && c != '\n' && c != '\r' && c != 0 {
		if err := p.assignment(); err != nil {
			return err
		}
		p.skip(" \t")
	}
	if p.next() == '#' {
		p.rest()
	}
	if p.next() == '\r' {
		p.at++
	}
	if p.at < len(p.text) {
		if p.text[p.at] != '\n' {
			return p.errorf("unexpected text after the value; quote the whole value")
		}
		p.newline()
	}
	return nil
}

// newline moves past a newline.
func (p *dotenvParser) newline() {
	p.at++
	p.line, p.start = p.line+1, p.at
}

// rest returns the rest of the line, without its end.
func (p *dotenvParser) rest() string {
	text, _, _ := strings.Cut(p.text[p.at:], "\n")
	text = strings.TrimSuffix(text, "\r")
	p.at += len(text)
	return text
}

func (p *dotenvParser) assignment() error {
	if after, ok := strings.CutPrefix(p.text[p.at:], "export"); ok && strings.TrimLeft(after, " \t") != after {
		p.at += len("export")
		p.skip(" \t")
	}
	v := Assignment{Line: p.line}
	from := p.at
	for p.at < len(p.text) && nameByte(p.text[p.at], p.at == from) {
		p.at++
	}
	v.Name = p.text[from:p.at]
	line, twice := p.seen[v.Name]
	switch {
	case v.Name == "":
		return p.errorf("expected NAME=value; a name has letters, digits and '_'")
	case len(v.Name) > maxName:
		return p.errorf("the name of a variable is too long; the maximum is %d characters", maxName)
	case p.next() != '=':
		return p.errorf("expected = after the name %s", v.Name)
	case strings.HasPrefix(v.Name, "PAWL_"):
		return p.errorf("variable %s is reserved; choose a name without the prefix PAWL_", v.Name)
	case twice:
		return p.errorf("duplicate variable %s (first set on line %d)", v.Name, line)
	case len(p.found) == maxDotenvValues:
		return p.errorf("too many variables; a file may set %d", maxDotenvValues)
	}
	p.seen[v.Name] = v.Line
	p.at++
	var err error
	v.Value, err = p.value(v.Name)
	p.found = append(p.found, v)
	return err
}

// value parses what follows the equals sign.
func (p *dotenvParser) value(name string) (string, error) {
	switch p.next() {
	case '\'', '"':
		return p.quoted(name, p.next())
	case ' ', '\t':
		if at := p.at; strings.TrimSpace(p.rest()) != "" {
			p.at = at
			return "", p.errorf("space before the value of %s; remove it", name)
		}
		return "", nil
	}
	from := p.at
	for p.at < len(p.text) {
		switch c := p.text[p.at]; {
		case c == '\n' || c == '\r':
			return strings.TrimRight(p.text[from:p.at], " \t"), nil
		case c == '#' && p.at > from && (p.text[p.at-1] == ' ' || p.text[p.at-1] == '\t'):
			return strings.TrimRight(p.text[from:p.at], " \t"), nil
		case strings.IndexByte("$`\"'\\", c) >= 0:
			return "", p.errorf("the value of %s contains a %c, which programs read differently; put the value in single quotes", name, c)
		}
		p.at++
	}
	return strings.TrimRight(p.text[from:], " \t"), nil
}

// quoted parses a value in quotes.
func (p *dotenvParser) quoted(name string, quote byte) (string, error) {
	opening := *p
	var value strings.Builder
	for p.at++; p.at < len(p.text); {
		switch c := p.text[p.at]; {
		case c == quote:
			p.at++
			return value.String(), nil
		case c == '\n':
			value.WriteByte(c)
			p.newline()
			continue
		case quote == '\'':
			value.WriteByte(c)
		case c == '$' || c == '`':
			return "", p.errorf("the value of %s contains a %c, which programs read differently; write \\$ for a dollar sign, or use single quotes", name, c)
		case c == '\\':
			p.at++
			escaped, ok := escapes[p.next()]
			if !ok {
				p.at--
				return "", p.errorf("unknown escape in the value of %s; use \\n, \\r, \\t, \\\", \\$ or \\\\, or single quotes", name)
			}
			value.WriteByte(escaped)
		default:
			value.WriteByte(c)
		}
		p.at++
	}
	return "", opening.errorf("the quote of the value of %s is not closed", name)
}

var escapes = map[byte]byte{'n': '\n', 'r': '\r', 't': '\t', '"': '"', '$': '$', '\\': '\\', '`': '`'}
