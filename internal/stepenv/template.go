package stepenv

import (
	"errors"
	"fmt"
	"strings"

	"pawl"
)

// A Template is a value in a plan: text with references to variables of the caller, and with expressions.
type Template []part

// part is a text, a reference if name is set, or an expression if that is set.
type part struct {
	text       string // without a name: the text; with one: the default
	name       string
	hasDefault bool
	expression string
	offset     int // of the expression in the value, in bytes
}

// An Expression is the text between ${{ and }} in a value.
type Expression struct {
	Text   string
	Offset int // in the value, in bytes
}

// Parse parses a value of an env: $NAME, ${NAME}, ${NAME:-default}, ${{ EXPR }}, and $$ for a dollar sign. Errors name the fix.
func Parse(text string) (Template, error) {
	return parse(text, "$", parseReference)
}

// ParseItem parses a value of a list: only ${{ EXPR }} has a meaning.
func ParseItem(text string) (Template, error) {
	const braces = "{{"
	return parse(text, "$"+braces, func(s string) (part, int, error) {
		p, width, err := parseExpression(braces + s)
		p.offset -= len(braces)
		return p, width - len(braces), err
	})
}

// parse parses a value with parts that begin with a mark.
func parse(text, mark string, parsePart func(s string) (p part, width int, err error)) (Template, error) {
	var t Template
	for at := 0; ; {
		before, rest, found := strings.Cut(text[at:], mark)
		if before != "" {
			t = append(t, part{text: before})
		}
		if !found {
			return t, nil
		}
		at += len(before) + len(mark)
		p, width, err := parsePart(rest)
		if err != nil {
			return nil, err
		}
		if p.expression != "" {
			p.offset += at
		}
		t, at = append(t, p), at+width
	}
}

// parseExpression parses {{ EXPR }}. The offset of the part is relative to what follows the dollar sign.
func parseExpression(s string) (p part, width int, err error) {
	end := expressionEnd(s)
	if end < 0 {
		return part{}, 0, fmt.Errorf("$%s has no closing }}", clip(s))
	}
	inner := strings.TrimSpace(s[2:end])
	if inner == "" {
		return part{}, 0, errors.New("${{ }} has no expression")
	}
	return part{expression: inner, offset: strings.Index(s, inner)}, end + 2, nil
}

// expressionEnd returns the offset of the }} that ends the expression at the start of s, -1 for none. A quoted text may contain }}.
func expressionEnd(s string) int {
	var quote byte
	for i := 2; i < len(s); i++ {
		switch c := s[i]; {
		case quote != 0 && c == '\\' && quote != '`':
			i++
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
		case c == '\'' || c == '"' || c == '`':
			quote = c
		case strings.HasPrefix(s[i:], "}}"):
			return i
		}
	}
	return -1
}

// Expressions returns the expressions of a template, in order.
func (t Template) Expressions() (all []Expression) {
	for _, p := range t {
		if p.expression != "" {
			all = append(all, Expression{Text: p.expression, Offset: p.offset})
		}
	}
	return all
}

// parseReference parses what follows a dollar sign. width is how many bytes of s belong to it.
func parseReference(s string) (p part, width int, err error) {
	switch {
	case strings.HasPrefix(s, "$"):
		return part{text: "$"}, 1, nil
	case strings.HasPrefix(s, "{{"):
		return parseExpression(s)
	case strings.HasPrefix(s, "{"):
		return parseBraces(s)
	}
	for width < len(s) && nameByte(s[width], width == 0) {
		width++
	}
	if width == 0 {
		return part{}, 0, errors.New("a single $ refers to no variable; write $$ for a dollar sign")
	}
	p = part{name: s[:width]}
	return p, width, p.check()
}

// parseBraces parses {NAME} or {NAME:-default}.
func parseBraces(s string) (p part, width int, err error) {
	body, _, closed := strings.Cut(s[1:], "}")
	if !closed {
		return part{}, 0, fmt.Errorf("$%s has no closing brace; write $$ for a dollar sign", clip(s))
	}
	p.name, p.text, p.hasDefault = strings.Cut(body, ":-")
	switch {
	case !IsName(p.name):
		err = fmt.Errorf("${%s} is not a reference; use ${NAME} or ${NAME:-default}, or $$ for a dollar sign", clip(body))
	case strings.Contains(p.text, "$"):
		err = fmt.Errorf("the default of ${%s} contains a $; a default is plain text", p.name)
	default:
		err = p.check()
	}
	return p, len(body) + 2, err
}

// maxName is the maximum length of the name of a variable.
const maxName = 128

// check returns an error if the name is too long, or that of a variable that only a step has.
func (p part) check() error {
	if len(p.name) > maxName {
		return fmt.Errorf("the name $%s is too long; the maximum is %d characters", clip(p.name), maxName)
	}
	if strings.HasPrefix(p.name, "PAWL_") {
		return fmt.Errorf("$%s is set for each step, so the plan cannot refer to it; use it in the step's command", p.name)
	}
	return nil
}

// clip shortens a text for a message.
func clip(s string) string {
	if len(s) > 40 {
		return strings.ToValidUTF8(s[:40], "") + "…"
	}
	return s
}

// IsName reports whether s can name a variable: a letter or '_', followed by letters, digits and '_'.
func IsName(s string) bool {
	for i := range len(s) {
		if !nameByte(s[i], i == 0) {
			return false
		}
	}
	return s != ""
}

func nameByte(c byte, first bool) bool {
	letter := 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_'
	return letter || !first && '0' <= c && c <= '9'
}

// Names returns the variables that the template refers to, in order, and for each whether it may be missing.
func (t Template) Names() (names []string, optional []bool) {
	for _, p := range t {
		if p.name != "" {
			names, optional = append(names, p.name), append(optional, p.hasDefault)
		}
	}
	return names, optional
}

// Expand replaces the references. lookup returns a variable's value and whether it is set. As in a shell, the default replaces
// an empty value too.
func (t Template) Expand(lookup func(name string) (string, bool)) (string, error) {
	var out strings.Builder
	for _, p := range t {
		if p.expression != "" {
			return "", fmt.Errorf("the value of ${{ %s }} is not known", p.expression)
		}
		if p.name == "" {
			out.WriteString(p.text)
			continue
		}
		value, set := lookup(p.name)
		switch {
		case p.hasDefault && value == "":
			out.WriteString(p.text)
		case !set:
			return "", fmt.Errorf("variable %s is not set", p.name)
		default:
			out.WriteString(value)
		}
	}
	return out.String(), nil
}

// reduce replaces the references and expressions with known values, and returns the rest as the text of a template. whole reports
// whether nothing is left to replace; then the text is the value itself.
func (t Template) reduce(known, values map[string]pawl.Given) (text string, whole bool) {
	var value, rest strings.Builder
	whole = true
	for _, p := range t {
		given, has := known[p.name]
		if p.expression != "" {
			given, has = values[p.expression]
		}
		switch {
		case p.expression != "" && has:
		case p.expression == "" && p.name == "":
			given.Value = p.text
		case !has || given.Hash != "":
			whole = false
			rest.WriteString(p.reference())
			continue
		case p.hasDefault && given.Value == "":
			given.Value = p.text
		case given.Unset:
			whole = false
			rest.WriteString(p.reference())
			continue
		}
		value.WriteString(given.Value)
		rest.WriteString(strings.ReplaceAll(given.Value, "$", "$$"))
	}
	if whole {
		return value.String(), true
	}
	return rest.String(), false
}

// reference returns the reference as a plan has it.
func (p part) reference() string {
	if p.expression != "" {
		return "${{ " + p.expression + " }}"
	}
	if p.hasDefault {
		return "${" + p.name + ":-" + p.text + "}"
	}
	return "${" + p.name + "}"
}
