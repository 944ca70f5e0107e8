// Package redacttest makes texts with secrets, and harmless texts that look like secrets. The texts are made at run time
// from shapes, always the same: no file of this repository contains what a scanner takes for a secret.
package redacttest

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"pawl/internal/lazyregexp"
	"strconv"
	"strings"
)

// A Text contains a secret. Its random parts are what nobody may see.
type Text struct {
	Text  string
	Parts []string
}

// Leaked returns the first random part of the secret that a text contains, "" for none.
func (t Text) Leaked(text string) string {
	for _, part := range t.Parts {
		if len(part) > 5 && strings.Contains(text, part) {
			return part
		}
	}
	return ""
}

// alphabets are the characters of random parts, by name.
var alphabets = map[string]string{
	"alnum": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
	"lower": "abcdefghijklmnopqrstuvwxyz0123456789",
	"upper": "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
	"cap":   "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
	"hex":   "0123456789abcdef",
	"HEX":   "0123456789ABCDEF",
	"digit": "0123456789",
	"alpha": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
	"enc":   "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
	"url":   "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
	"bech":  "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
	"pass":  "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789!%*",
}

// random matches a random part: <alnum36>, <uuid>, <word>.
var random = lazyregexp.New(`<([a-zA-Z]+)(\d+)>|<(?:uuid|word)>`)

// encoded matches what is encoded in base64: {base64:…}.
var encoded = lazyregexp.New(`\{base64:([^}]*)\}`)

// generator fills templates.
type generator struct{ random *rand.Rand }

func (g generator) text(alphabet string, n int) string {
	out := make([]byte, n)
	for i := range out {
		out[i] = alphabet[g.random.IntN(len(alphabet))]
	}
	if n > 3 && strings.Contains(alphabet, "7") && !strings.ContainsAny(string(out), "0123456789") { // as nearly all have
		out[1] = '7'
	}
	return string(out)
}

func (g generator) uuid() string {
	hex := func(n int) string { return g.text(alphabets["hex"], n) }
	return hex(8) + "-" + hex(4) + "-4" + hex(3) + "-a" + hex(3) + "-" + hex(12)
}

// fill replaces the random parts of a template, and returns them.
func (g generator) fill(template string) Text {
	var parts []string
	text := random.ReplaceAllStringFunc(template, func(part string) string {
		switch of := random.FindStringSubmatch(part); part {
		case "<uuid>":
			parts = append(parts, g.uuid())
		case "<word>":
			parts = append(parts, words[g.random.IntN(len(words))]+g.text("23456789", 3))
		default:
			n, err := strconv.Atoi(of[2])
			if err != nil || alphabets[of[1]] == "" {
				panic(fmt.Sprintf("template %q: unknown part %q", template, part))
			}
			parts = append(parts, g.text(alphabets[of[1]], n))
		}
		return parts[len(parts)-1]
	})
	text = encoded.ReplaceAllStringFunc(text, func(part string) string {
		parts = []string{base64.StdEncoding.EncodeToString([]byte(encoded.FindStringSubmatch(part)[1]))}
		return parts[0]
	})
	return Text{strings.ReplaceAll(text, "·", ""), parts}
}

var words = []string{"Winter", "orchid", "Falcon", "mango", "Zeppelin", "harbour", "Granite", "violet"}

// Secrets returns texts with a secret each, others for each seed.
func Secrets(seed uint64) []Text {
	g := generator{rand.New(rand.NewPCG(2026, seed))}
	var all []Text
	for template := range strings.Lines(secretTemplates) {
		if template = strings.TrimSuffix(template, "\n"); template != "" && !strings.HasPrefix(template, "#") {
			all = append(all, g.fill(strings.ReplaceAll(template, "⏎", "\n")))
		}
	}
	return all
}

// Harmless returns texts without secrets.
func Harmless() []string {
	g := generator{rand.New(rand.NewPCG(2026, 0))}
	var all []string
	for template := range strings.Lines(harmlessTemplates) {
		if template = strings.TrimSuffix(template, "\n"); template != "" && !strings.HasPrefix(template, "#") {
			all = append(all, g.fill(strings.ReplaceAll(template, "⏎", "\n")).Text)
		}
	}
	return all
}
