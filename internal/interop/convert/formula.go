package convert

import (
	"fmt"
	"strings"
)

// formula is an expression of GitHub Actions. op is "value", "name", "call", "index", "!" or a binary operator.
type formula struct {
	op   string
	text string // literal, or name: github.ref, in lower case but for the names in env, inputs, matrix and so on
	kind string // of a literal: string, number, boolean, null
	args []*formula
}

// maxNested is the depth to which expressions may be nested.
const maxNested = 50

// parseExpression parses what is between ${{ and }}.
func parseExpression(text string) (*formula, error) {
	p := &expressionParser{text: text}
	e := p.binary(0, 0)
	if p.skip(); p.failed == nil && p.at < len(p.text) {
		p.fail()
	}
	return e, p.failed
}

type expressionParser struct {
	text   string
	at     int
	failed error
}

func (p *expressionParser) fail() *formula {
	if p.failed == nil {
		p.failed = fmt.Errorf("cannot parse the expression")
	}
	p.at = len(p.text)
	return &formula{op: "value", kind: "null"}
}

func (p *expressionParser) skip() {
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.at]) >= 0 {
		p.at++
	}
}

// take passes a token if it comes next.
func (p *expressionParser) take(token string) bool {
	p.skip()
	if strings.HasPrefix(p.text[p.at:], token) {
		p.at += len(token)
		return true
	}
	return false
}

// levels are the binary operators by precedence, the weakest first.
var levels = [][]string{{"||"}, {"&&"}, {"==", "!="}, {"<=", ">=", "<", ">"}}

func (p *expressionParser) binary(level, depth int) *formula {
	if depth > maxNested {
		return p.fail()
	}
	if level == len(levels) {
		return p.unary(depth)
	}
	left := p.binary(level+1, depth)
	for {
		op := ""
		for _, candidate := range levels[level] {
			if op == "" && p.take(candidate) {
				op = candidate
			}
		}
		if op == "" {
			return left
		}
		left = &formula{op: op, args: []*formula{left, p.binary(level+1, depth)}}
	}
}

func (p *expressionParser) unary(depth int) *formula {
	if p.skip(); !strings.HasPrefix(p.text[p.at:], "!=") && p.take("!") {
		if depth > maxNested {
			return p.fail()
		}
		return &formula{op: "!", args: []*formula{p.unary(depth + 1)}}
	}
	e := p.primary(depth)
	for p.failed == nil {
		switch {
		case p.take("["):
			index := p.binary(0, depth+1)
			if !p.take("]") {
				return p.fail()
			}
			if e.op == "name" && index.op == "value" && index.kind == "string" {
				e = &formula{op: "name", text: e.text + "." + index.text}
			} else {
				e = &formula{op: "index", args: []*formula{e, index}}
			}
		case e.op == "name" && p.take("."):
			e = &formula{op: "name", text: e.text + "." + p.name()}
		default:
			return e
		}
	}
	return e
}

func (p *expressionParser) name() string {
	from := p.at
	for p.at < len(p.text) {
		c := p.text[p.at]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '*') {
			break
		}
		p.at++
	}
	if from == p.at {
		p.fail()
	}
	return p.text[min(from, p.at):p.at]
}

func (p *expressionParser) primary(depth int) *formula {
	if p.skip(); p.at == len(p.text) {
		return p.fail()
	}
	switch c := p.text[p.at]; {
	case c == '(':
		p.at++
		e := p.binary(0, depth+1)
		if !p.take(")") {
			return p.fail()
		}
		return e
	case c == '\'':
		return p.quoted()
	case c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.':
		from := p.at
		for p.at++; p.at < len(p.text) && strings.IndexByte("0123456789.xXabcdefABCDEF+-", p.text[p.at]) >= 0; {
			p.at++
		}
		return &formula{op: "value", kind: "number", text: p.text[from:p.at]}
	}
	name := p.name()
	switch name {
	case "true", "false":
		return &formula{op: "value", kind: "boolean", text: name}
	case "null":
		return &formula{op: "value", kind: "null"}
	}
	if p.failed == nil && p.take("(") {
		return p.call(name, depth)
	}
	return &formula{op: "name", text: name}
}

func (p *expressionParser) quoted() *formula {
	var text strings.Builder
	for p.at++; p.at < len(p.text); p.at++ {
		if p.text[p.at] != '\'' {
			text.WriteByte(p.text[p.at])
			continue
		}
		if p.at++; p.at == len(p.text) || p.text[p.at] != '\'' {
			return &formula{op: "value", kind: "string", text: text.String()}
		}
		text.WriteByte('\'')
	}
	return p.fail()
}

func (p *expressionParser) call(name string, depth int) *formula {
	e := &formula{op: "call", text: strings.ToLower(name)}
	if p.take(")") {
		return e
	}
	for {
		e.args = append(e.args, p.binary(0, depth+1))
		if p.take(")") {
			return e
		}
		if !p.take(",") {
			return p.fail()
		}
	}
}

// findExpression returns the length of the ${{ … }} at the beginning of text, 0 for none.
func findExpression(text string) int {
	if !strings.HasPrefix(text, "${{") {
		return 0
	}
	quoted := false
	for i := 3; i < min(len(text), maxReference); i++ {
		switch {
		case text[i] == '\'':
			quoted = !quoted
		case !quoted && strings.HasPrefix(text[i:], "}}"):
			return i + 2
		}
	}
	return 0
}

// inside returns what is between ${{ and }}.
func inside(span string) string { return strings.TrimSpace(span[3 : len(span)-2]) }

// spans splits a text at its expressions: the elements with an odd index are expressions with ${{ and }}.
func spans(text string) []string {
	parts := []string{""}
	for len(text) > 0 {
		next := strings.Index(text, "${{")
		if next < 0 {
			parts[len(parts)-1] += text
			break
		}
		parts[len(parts)-1] += text[:next]
		text = text[next:]
		n := findExpression(text)
		if n == 0 {
			parts[len(parts)-1] += text
			break
		}
		parts = append(parts, text[:n], "")
		text = text[n:]
	}
	return parts
}
