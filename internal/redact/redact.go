// Package redact removes secrets from text before it is stored, shown or sent.
//
// It recognizes a secret by its value (that of an environment variable whose name indicates a secret), by its form
// (tokens of well-known services, private keys, passwords in URLs), or by the name that it is assigned to (password=…).
// Some forms are generated from the rules of gitleaks.
// It replaces each by [redacted:KIND] and preserves everything else byte for byte. Equal texts give equal results.
//
// Redaction is pure and takes time linear in the length of the text. It is not complete: a secret of unknown value,
// form and name looks like any other word.
package redact

import (
	"slices"
	"strings"
	"sync"
)

// A Redactor removes secrets from text. Its methods may be called concurrently.
type Redactor struct {
	starts pairs // of all rules
	tables []*table
}

// pairs is a set of two successive bytes.
type pairs [1 << 10]uint64

func (s *pairs) add(pair int)      { s[pair>>6] |= 1 << (pair & 63) }
func (s *pairs) has(pair int) bool { return s[pair>>6]&(1<<(pair&63)) != 0 }

// table holds rules by the start of their prefix.
type table struct {
	two map[int][]rule // by the first two bytes
	one [256][]rule    // whose prefix has one byte
}

// rule finds one kind of secret.
type rule struct {
	prefix string // find is called where this occurs; never empty
	find   func(p position) match
}

// position is an offset in a text. Everything before done was already redacted.
type position struct {
	text     string
	done, at int
}

// match is the part of a text that is secret. The zero value is not a match.
type match struct {
	from, to int
	kind     string
}

// New returns a Redactor that also knows the values of the secret variables in environ, each NAME=VALUE.
func New(environ []string) *Redactor { return newRedactor(newTable(values(environ, nil)), general()) }

// patterns returns the Redactor that knows no values.
var patterns = sync.OnceValue(func() *Redactor { return New(nil) })

// general are the rules that all Redactors have.
var general = sync.OnceValue(func() *table { return newTable(slices.Concat(tokens(), contexts())) })

func newRedactor(tables ...*table) *Redactor {
	r := &Redactor{tables: tables}
	for _, t := range tables {
		for pair := range t.two {
			r.starts.add(pair)
		}
		for first, rules := range t.one {
			for next := 0; len(rules) > 0 && next < 256; next++ {
				r.starts.add(first<<8 | next)
			}
		}
	}
	return r
}

func newTable(rules []rule) *table {
	t := &table{two: make(map[int][]rule, len(rules))}
	for _, rule := range rules {
		if first := rule.prefix[0]; len(rule.prefix) == 1 {
			t.one[first] = append(t.one[first], rule)
		} else {
			pair := int(first)<<8 | int(rule.prefix[1])
			t.two[pair] = append(t.two[pair], rule)
		}
	}
	return t
}

// contexts returns the rules for secrets that are known by what is around them.
func contexts() []rule {
	rules := []rule{
		{"-----BEGIN ", privateKey}, {"://", urlPassword}, {":5432:", passFile}, {"=", assignment}, {":", assignment}, {"--", flag},
		{" set ", setting}, {"echo ", piped}, {"vault login ", lastArgument(3)}, {"htpasswd ", lastArgument(4)}, {"/user:", lastArgument(2)}, {"pass:", passSource},
		{" is", sentence}, {"password ", afterPassword}, {">", element}, {"',", argument}, {"\",", argument},
		{"Cookie: ", cookies}, {"cookie: ", cookies}, {"kind: Secret\n", kubernetesSecret},
	}
	for _, c := range commands {
		rules = append(rules, rule{c.name, c.find})
	}
	return rules
}

// Text redacts a text.
func (r *Redactor) Text(text string) string {
	found := append(r.known(text), serviceTokens(text)...)
	if len(found) == 0 {
		return text
	}
	slices.SortStableFunc(found, func(a, b match) int { return a.from - b.from })
	var out strings.Builder
	done := 0
	for _, f := range found {
		if f.from < done { // overlaps the one before
			done = max(done, f.to)
			continue
		}
		out.WriteString(text[done:f.from])
		out.WriteString("[redacted:" + f.kind + "]")
		done = f.to
	}
	out.WriteString(text[done:])
	return out.String()
}

// known returns the secrets that have a value, form or name that r knows, in order.
func (r *Redactor) known(text string) []match {
	var found []match
	p := position{text: text}
	for p.at < len(text)-1 { // no secret has only one byte
		pair := int(text[p.at])<<8 | int(text[p.at+1])
		if !r.starts.has(pair) {
			p.at++
			continue
		}
		f := r.find(p, pair)
		if f.to == 0 {
			p.at++
			continue
		}
		found = append(found, f)
		p.done, p.at = f.to, f.to
	}
	return found
}

// find returns the secret at this position, which starts with a pair of bytes.
func (r *Redactor) find(p position, pair int) match {
	for _, t := range r.tables {
		for _, rules := range [2][]rule{t.two[pair], t.one[pair>>8]} {
			for _, rule := range rules {
				if strings.HasPrefix(p.text[p.at:], rule.prefix) {
					if f := rule.find(p); f.to > 0 {
						return f
					}
				}
			}
		}
	}
	return match{}
}

// wordStart reports whether a word starts here, also after characters that programs insert: \n in a quoted text, %3D in
// a URL, terminal colors.
func (p position) wordStart() bool {
	if p.at == p.done || !wordByte(p.text[p.at-1]) {
		return true
	}
	before := p.text[max(p.done, p.at-12):p.at]
	if n := len(before); n >= 2 && before[n-2] == '\\' || n >= 3 && before[n-3] == '%' {
		return true
	}
	escape := strings.LastIndex(before, "\x1b[")
	return escape >= 0 && strings.Trim(before[escape+2:len(before)-1], "0123456789;") == ""
}

func wordByte(c byte) bool { return letter(c) || digit(c) || c == '_' }
func letter(c byte) bool   { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func digit(c byte) bool    { return '0' <= c && c <= '9' }

// scanWhile returns the end of the bytes from at on that in accepts, at most limit of them.
func scanWhile(text string, at, limit int, in func(byte) bool) int {
	end := at
	for end < len(text) && end-at < limit && in(text[end]) {
		end++
	}
	return end
}
