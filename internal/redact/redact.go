// Package redact removes secrets from text before it is stored, shown or sent.
//
// It recognises a secret by its value (that of an environment variable whose name indicates a secret), by its form
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
)

// A Redactor removes secrets from text. Its methods may be called concurrently.
type Redactor struct {
	starts [256][]rule    // by the first byte of the prefix
	second [256][256]bool // by the first byte: does a prefix continue with this byte?
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

// match is the part of a text that is secret. The zero value is no match.
type match struct {
	from, to int
	kind     string
}

// New returns a Redactor that also knows the values of the secret variables in environ, each NAME=VALUE.
func New(environ []string) *Redactor {
	r := &Redactor{}
	for _, rules := range [][]rule{values(environ), tokens(), {
		{"-----BEGIN ", privateKey},
		{"://", urlPassword},
		{"=", assignment},
		{":", assignment},
		{"--", flag},
	}} {
		for _, rule := range rules {
			r.add(rule)
		}
	}
	return r
}

func (r *Redactor) add(rule rule) {
	first := rule.prefix[0]
	r.starts[first] = append(r.starts[first], rule)
	for next := range 256 {
		if len(rule.prefix) == 1 || int(rule.prefix[1]) == next {
			r.second[first][next] = true
		}
	}
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
		if !r.second[text[p.at]][text[p.at+1]] {
			p.at++
			continue
		}
		f := r.find(p)
		if f.to == 0 {
			p.at++
			continue
		}
		found = append(found, f)
		p.done, p.at = f.to, f.to
	}
	return found
}

// find returns the secret at this position.
func (r *Redactor) find(p position) match {
	for _, rule := range r.starts[p.text[p.at]] {
		if strings.HasPrefix(p.text[p.at:], rule.prefix) {
			if f := rule.find(p); f.to > 0 {
				return f
			}
		}
	}
	return match{}
}

// wordStart reports whether a word starts here, also after characters that programs insert: \n in a quoted text, %3D in
// a URL, terminal colours.
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
