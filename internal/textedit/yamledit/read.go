// Package yamledit reads YAML with positions and merges values into it in place. Text that is not YAML is scanned line by
// line.
//
// Package gyoshu has an editor of its own for front matter. Gyoshu does not parse YAML: it reads lines, and accepts values
// that YAML rejects, such as "a: b" without quotes. Its rules of quoting differ too.
package yamledit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"pawl/internal/textedit"
)

// Limits that keep a hostile file from taking more than a moment: see those of plans.
const (
	maxSize  = 4 << 20
	maxMarks = 100_000 // lines, separators, brackets and quotes
	maxNodes = 100_000 // aliases are written out
	maxDepth = 100
)

// Doc is a YAML mapping in a file: the whole file or its front matter.
type Doc struct {
	Root *Value // a map

	file  []byte
	part  textedit.Part
	lines []int // offsets of the lines, as YAML counts them
}

// SyntaxError reports where and why a text is not valid YAML. Its line is that of the file.
type SyntaxError = textedit.SyntaxError

// Read parses a part of a file. The error is a *SyntaxError if the part is not one YAML mapping; Scan can still read some of
// it. An empty part is an empty mapping.
func Read(file []byte, part textedit.Part) (*Doc, error) {
	y := &Doc{file: file, part: part, Root: MapOf()}
	data := part.Bytes(file)
	if why := unreadable(data); why != "" {
		return nil, &SyntaxError{Line: part.Line, Why: why}
	}
	root, err := load(data)
	if err != nil {
		return nil, y.syntax(err)
	}
	if root == nil {
		y.Root.Line, y.Root.column = part.Line, 1
		return y, nil
	}
	y.lines = yamlLines(data)
	left := maxNodes
	if y.Root = y.value(root, &left, 0); left <= 0 {
		return nil, &SyntaxError{Line: part.Line, Why: "its aliases expand to too many values"}
	}
	if y.Root.Kind != Map {
		return nil, &SyntaxError{Line: y.Root.Line, Why: "not a mapping"}
	}
	return y, nil
}

func unreadable(data []byte) string {
	switch {
	case len(data) > maxSize:
		return fmt.Sprintf("it is larger than %d MiB", maxSize>>20)
	case !utf8.Valid(data):
		return "it is not UTF-8"
	}
	marks := 0
	for _, c := range data {
		if strings.IndexByte("\r\n,[]{}&*!?:\"'-", c) >= 0 {
			marks++
		}
	}
	if marks > maxMarks {
		return "it is too large"
	}
	return ""
}

// load returns the only document in data, nil if it is empty.
func load(data []byte) (*yaml.Node, error) {
	loader, err := yaml.NewLoader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	var document, second yaml.Node
	if err := loader.Load(&document); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	switch err := loader.Load(&second); {
	case err == nil:
		return nil, errors.New("more than one document")
	case !errors.Is(err, io.EOF):
		return nil, err
	}
	if len(document.Content) == 0 || document.Content[0].ShortTag() == "!!null" && document.Content[0].Value == "" {
		return nil, nil
	}
	return document.Content[0], nil
}

func (y *Doc) syntax(err error) error {
	where, why := y.part.Line, err.Error()
	if load, ok := errors.AsType[*yaml.LoadError](err); ok {
		where, why = y.part.Line+max(load.Mark.Line-1, 0), strings.TrimSpace(load.Message+" "+load.ContextMsg)
	}
	return &SyntaxError{Line: where, Why: why}
}

// yamlLines returns the offsets of the lines. YAML has more line ends than \n.
func yamlLines(data []byte) []int {
	begins := []int{0}
	for i := 0; i < len(data); {
		c, width := utf8.DecodeRune(data[i:])
		i += width
		switch c {
		case '\r':
			if i < len(data) && data[i] == '\n' {
				continue
			}
			begins = append(begins, i)
		case '\n', '\u0085', '\u2028', '\u2029':
			begins = append(begins, i)
		}
	}
	return begins
}

// offset returns the byte of the file at a node's place.
func (y *Doc) offset(n *yaml.Node) int {
	at := y.part.From
	if n.Line < 1 || n.Line > len(y.lines) {
		return at
	}
	at += y.lines[n.Line-1]
	for column := 1; column < n.Column && at < y.part.To; column++ {
		_, width := utf8.DecodeRune(y.file[at:y.part.To])
		at += width
	}
	return at
}

// line returns the line of a node in the file.
func (y *Doc) line(n *yaml.Node) int { return y.part.Line + n.Line - 1 }

// value returns the value of a node. left is the number of nodes that may still be read.
func (y *Doc) value(n *yaml.Node, left *int, depth int) *Value {
	if *left--; *left <= 0 || depth > maxDepth {
		*left = 0
		return &Value{Null: true}
	}
	if n.Kind == yaml.AliasNode {
		v := y.value(n.Alias, left, depth+1)
		v.to = 0
		return v
	}
	v := &Value{Line: y.line(n), column: n.Column, Inline: n.Style&yaml.FlowStyle != 0, from: y.offset(n)}
	switch n.Kind {
	case yaml.MappingNode:
		v.Kind = Map
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			v.Pairs = append(v.Pairs, Pair{Key: key.Value, Value: y.value(n.Content[i+1], left, depth+1), line: y.line(key), from: y.offset(key)})
		}
	case yaml.SequenceNode:
		v.Kind = List
		for _, item := range n.Content {
			v.Items = append(v.Items, y.value(item, left, depth+1))
		}
	default:
		y.scalar(v, n)
	}
	return v
}

func (y *Doc) scalar(v *Value, n *yaml.Node) {
	v.Text = n.Value
	rest := y.file[v.from:y.part.To]
	switch {
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		v.style, v.Quoted = block, true
	case n.Style&yaml.DoubleQuotedStyle != 0:
		v.style, v.Quoted, v.to = double, true, v.from+endOfDouble(rest)
	case n.Style&yaml.SingleQuotedStyle != 0:
		v.style, v.Quoted, v.to = single, true, v.from+endOfSingle(rest)
	default:
		v.Null, v.bare = n.ShortTag() == "!!null", true
		if bytes.HasPrefix(rest, []byte(n.Value)) {
			v.to = v.from + len(n.Value)
		}
	}
	if v.to == v.from && n.Value != "" || v.to-v.from < 2 && v.style != plain {
		v.to = 0
	}
}

// endOfDouble returns the end of the double-quoted string at the start of data, 0 if it is not closed.
func endOfDouble(data []byte) int {
	if len(data) == 0 || data[0] != '"' {
		return 0
	}
	for i := 1; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return 0
}

func endOfSingle(data []byte) int {
	if len(data) == 0 || data[0] != '\'' {
		return 0
	}
	for i := 1; i < len(data); i++ {
		if data[i] != '\'' {
			continue
		}
		if i+1 >= len(data) || data[i+1] != '\'' {
			return i + 1
		}
		i++
	}
	return 0
}
