package strictyaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// MaxSize is the size in bytes of the largest file that is read.
const MaxSize = 16 << 20

// Limits that keep a hostile file from taking more than a second or so. The YAML scanner takes up to 1.5 KB and 4 µs for
// each mark in a flow collection, and a fraction of that where none has begun.
const (
	maxFlowMarks  = 200_000 // lines, separators, brackets and quotes behind the first bracket that is not closed at once
	maxBlockMarks = 600_000 // in all
	maxExpanded   = 100_000 // values read through aliases
)

// parse returns the one YAML document in data, nil where there is none or after noting why it cannot be read.
func (f *File) parse(data []byte) *yaml.Node {
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	if !f.isText(data) {
		return nil
	}
	loader, err := yaml.NewLoader(bytes.NewReader(data))
	if err != nil {
		f.errorAt(1, 1, "%v", err)
		return nil
	}
	var document, second yaml.Node
	switch err := loader.Load(&document); {
	case errors.Is(err, io.EOF), err == nil && isEmpty(&document):
		return nil
	case err != nil:
		f.syntax(err, data)
		return nil
	}
	if err := loader.Load(&second); err == nil {
		f.errorAt(second.Line, second.Column, "a second YAML document starts here; a %s must be a single document", f.noun)
	} else if !errors.Is(err, io.EOF) {
		f.syntax(err, data)
	}
	return document.Content[0]
}

func isEmpty(document *yaml.Node) bool {
	return len(document.Content) == 0 || document.Content[0].ShortTag() == "!!null"
}

// isText reports whether data may be given to the YAML parser, and notes why not.
func (f *File) isText(data []byte) bool {
	f.size += len(data)
	if f.size > MaxSize && len(data) <= MaxSize {
		f.tooLarge = true
		f.errorAt(1, 1, "with this file, the %s has more than %d MiB; include fewer files", f.noun, MaxSize>>20)
		return false
	}
	if len(data) > MaxSize {
		f.tooLarge = true
		f.errorAt(1, 1, "the file has %d MiB; a %s may have at most %d MiB; check that this is the right file", len(data)>>20, f.noun, MaxSize>>20)
		return false
	}
	line, column, marks, inFlow := 1, 1, 0, 0
	for i := 0; i < len(data); {
		c, width := utf8.DecodeRune(data[i:])
		if c == utf8.RuneError && width == 1 || !isYAMLText(c) {
			f.errorAt(line, column, "not a text file: byte %d is 0x%02x; a %s must be YAML in UTF-8", i, data[i], f.noun)
			return false
		}
		switch c {
		case '\r', '\n', ',', '[', ']', '{', '}', '&', '*', '!', '?', ':', '"', '\'', '-':
			marks++
			if inFlow > 0 || opensFlow(data[i:]) {
				inFlow++
			}
		}
		i += width
		column++
		if c == '\n' {
			line, column = line+1, 1
		}
	}
	f.marks, f.flowMarks = f.marks+marks, f.flowMarks+inFlow
	marks, limit := f.marks, maxBlockMarks
	if f.flowMarks > maxFlowMarks {
		marks, limit = f.flowMarks, maxFlowMarks
	}
	if marks > limit {
		f.tooLarge = true
		f.errorAt(1, 1, "the %s is too large: it has %d lines, separators, brackets and quotes; the limit is %d; "+
			"split it, or move long lists and scripts into files", f.noun, marks, limit)
		return false
	}
	return true
}

// opensFlow reports whether text may open a flow collection with something in it.
func opensFlow(text []byte) bool {
	return (text[0] == '[' || text[0] == '{') && !bytes.HasPrefix(text, []byte("[]")) && !bytes.HasPrefix(text, []byte("{}"))
}

// isYAMLText reports whether YAML allows the character.
func isYAMLText(c rune) bool {
	switch {
	case c < ' ':
		return c == '\t' || c == '\n' || c == '\r'
	case c >= 0x7f && c < 0xa0:
		return c == 0x85
	}
	return c != '\uFEFF' && c != 0xfffe && c != 0xffff
}

// syntax notes an error of the YAML parser.
func (f *File) syntax(err error, data []byte) {
	f.badYAML = true
	load, ok := errors.AsType[*yaml.LoadError](err)
	if !ok {
		f.errorAt(1, 1, "invalid YAML: %v", err)
		return
	}
	text := likelyMistake(load)
	lines := bytes.Split(data, []byte("\n"))
	if n := load.Mark.Line; n > 0 && n <= len(lines) && bytes.HasPrefix(bytes.TrimLeft(lines[n-1], " "), []byte("\t")) {
		text = indentWithSpaces
	}
	f.errorAt(load.Mark.Line, load.Mark.Column, "invalid YAML: %s", text)
}

const indentWithSpaces = "a line is indented with a tab; indent with spaces"

// mistakes are the likely reasons for what the YAML parser reports, by a part of its message or of its context. The first one
// that matches counts.
var mistakes = []struct{ part, likely string }{
	{"unknown escape character", "unknown escape in double quotes; write \\\\ for a backslash, or use single quotes"},
	{"scanning a quoted scalar", "a quote is not closed"},
	{"parsing a flow", "a bracket, brace or quote is not closed, or a comma is missing"},
	{"tab", indentWithSpaces},
	{"mapping values are not allowed", `": " is not allowed here; put the value in quotes, or check the indentation`},
	{"block sequence entries are not allowed", `"- " is not allowed here; put the list on the next line, or quote the value`},
	{"cannot start any token", "a value cannot start with this character; put the value in quotes"},
	{"could not find expected ':'", `a key has no ":" after it, or a value is not indented`},
	{"did not find expected key", "the indentation does not match the lines above, or a quote is in the wrong place"},
	{"did not find expected '-' indicator", "the indentation does not match the list above"},
	{"unknown anchor", "*NAME refers to an anchor that is not in the file; put the value in quotes if it is text"},
	{"scanning a block scalar", "a text block after | or > is not indented correctly"},
}

// likelyMistake says in plain words what is probably wrong, and where it begins if that is another line.
func likelyMistake(load *yaml.LoadError) string {
	message := load.Message + " " + load.ContextMsg
	for _, m := range mistakes {
		if !strings.Contains(message, m.part) {
			continue
		}
		if from := load.ContextMark.Line; from > 0 && from < load.Mark.Line && strings.Contains(m.likely, "not closed") {
			return fmt.Sprintf("%s; see line %d", m.likely, from)
		}
		return m.likely
	}
	return strings.TrimSpace(message)
}
