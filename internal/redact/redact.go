// Package redact takes secrets out of text before it is stored, shown or sent anywhere.
//
// It knows a secret by its value (that of an environment variable whose name says that it is secret), by its shape (the
// tokens of well-known services, private keys, passwords in URLs), or by the name that it is assigned to (password=…).
// Each becomes [redacted:KIND], and everything else stays as it is, byte for byte. The same text always becomes the same.
//
// It is pure, and takes time in proportion to the text. It does not promise to find everything: a secret of no known
// value, shape or name is a word like any other.
package redact

import "strings"

// A Redactor takes secrets out of text. Several goroutines may use one.
type Redactor struct {
	starts [256][]rule    // by the first byte of what they look for
	second [256][256]bool // by the first byte: is there one that goes on with this byte?
}

// rule says how to find one sort of secret.
type rule struct {
	first string // what its find is asked about; never empty
	find  func(p place) found
}

// place is a place in a text. What is before done is taken out already.
type place struct {
	text     string
	done, at int
}

// found is a stretch of a text that is secret. The zero value is none.
type found struct {
	from, to int
	kind     string
}

// New returns a Redactor that also knows the values of the secret ones among these variables, each NAME=VALUE.
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
	first := rule.first[0]
	r.starts[first] = append(r.starts[first], rule)
	for next := range 256 {
		if len(rule.first) == 1 || int(rule.first[1]) == next {
			r.second[first][next] = true
		}
	}
}

// Text returns the text without its secrets.
func (r *Redactor) Text(text string) string {
	var out strings.Builder
	p := place{text: text}
	for p.at < len(text)-1 { // no secret is a single byte
		if !r.second[text[p.at]][text[p.at+1]] {
			p.at++
			continue
		}
		f := r.find(p)
		if f.to == 0 {
			p.at++
			continue
		}
		out.WriteString(text[p.done:f.from])
		out.WriteString("[redacted:" + f.kind + "]")
		p.done, p.at = f.to, f.to
	}
	if p.done == 0 {
		return text
	}
	out.WriteString(text[p.done:])
	return out.String()
}

// find returns the secret that is recognised at this place.
func (r *Redactor) find(p place) found {
	for _, rule := range r.starts[p.text[p.at]] {
		if strings.HasPrefix(p.text[p.at:], rule.first) {
			if f := rule.find(p); f.to > 0 {
				return f
			}
		}
	}
	return found{}
}

// fresh reports whether a word begins here. It does so too behind what other programs put there: \n in a quoted text, %3D
// in a URL, the colours of a terminal.
func (p place) fresh() bool {
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

// run returns the end of the stretch of bytes from at on that in accepts, looking at no more than limit of them.
func run(text string, at, limit int, in func(byte) bool) int {
	end := at
	for end < len(text) && end-at < limit && in(text[end]) {
		end++
	}
	return end
}
