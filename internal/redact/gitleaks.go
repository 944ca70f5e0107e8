package redact

//go:generate make -C ../.. secrets-rules

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// gitleaksRule is a rule of gitleaks. The rules are plain data, so that they cost nothing until a text contains one of
// their keywords.
type gitleaksRule struct {
	kind, pattern string   // in the pattern, <=> stands for sign, <$> for end
	reach         int      // at least the length of its longest match, in bytes
	keywords      []string // each match contains one of them, in upper or lower case
	entropy       float64  // of a secret, in bits per byte, must be greater
	group         int      // the secret is this group. Defaults to the first one that matched, else the whole match.
}

// sign matches what is between a name and its value, and end what follows a value.
const (
	sign = `[ \t\w.-]{0,20}[\s'"]{0,3}(?:=|>|:{1,3}=|\|\||:|=>|\?=|,)[\x60'"\s=]{0,5}`
	end  = `(?:[^\w+/=-]|$)`
)

// assigned reports whether the rule knows a value by its name, not by its own form.
func (g *gitleaksRule) assigned() bool { return strings.Contains(g.pattern, "<=>") }

// compiled are the expressions of the rules, compiled on first use.
var compiled [len(gitleaksRules)]struct {
	once       sync.Once
	expression *regexp.Regexp
}

func expressionOf(rule int) *regexp.Regexp {
	c := &compiled[rule]
	c.once.Do(func() {
		c.expression = regexp.MustCompile(strings.NewReplacer("<=>", sign, "<$>", end).Replace(gitleaksRules[rule].pattern))
	})
	return c.expression
}

// keywordIndex finds the keywords of all rules in one pass over a text.
type keywordIndex struct {
	lower   [256]byte
	first   [4096]uint16 // by the hash of three letters: the number of the first keyword + 1
	entries []keyword
}

type keyword struct {
	text  string
	rule  int
	names bool   // it is the name that a value is assigned to
	next  uint16 // the next one with the same hash + 1
}

// keywords is built on first use.
var keywords = sync.OnceValue(func() *keywordIndex {
	x := &keywordIndex{}
	for c := range 256 {
		x.lower[c] = byte(c)
		if 'A' <= c && c <= 'Z' {
			x.lower[c] |= 0x20
		}
	}
	for i := range gitleaksRules {
		for _, text := range gitleaksRules[i].keywords {
			h := hashOf(uint32(text[0])<<16 | uint32(text[1])<<8 | uint32(text[2]))
			names := gitleaksRules[i].assigned() && !strings.Contains(gitleaksRules[i].pattern, `|\b`)
			x.entries = append(x.entries, keyword{text, i, names, x.first[h]})
			x.first[h] = uint16(len(x.entries))
		}
	}
	return x
})

// hashOf returns the hash of three letters.
func hashOf(letters uint32) uint32 { return letters * 0x9E3779B1 >> 20 }

// at reports whether a keyword is at an offset of a text.
func (x *keywordIndex) at(text string, at int, k *keyword) bool {
	if len(text)-at < len(k.text) {
		return false
	}
	for i := range len(k.text) {
		if x.lower[text[at+i]] != k.text[i] {
			return false
		}
	}
	return true
}

// maxName is the maximum distance between the start of a name and that of the value that is assigned to it, in bytes.
const maxName = 96

// assigns reports whether a text that starts with a name may assign a token to it. It spares the rules most of the texts
// that only mention a service.
func assigns(text string) bool {
	at := strings.IndexAny(text, "=:>|,")
	for run := 0; at >= 0 && at < len(text); at++ {
		if run++; !headerByte(text[at]) {
			run = 0
		} else if run == 12 {
			return true
		}
	}
	return false
}

// window is a part of a text that may contain what a rule finds.
type window struct{ rule, from, to int }

// windows returns the parts of a text that the rules must search. Those of one rule do not overlap.
func (x *keywordIndex) windows(text string) []window {
	var found []window
	var last map[int]int // rule → number of its last window
	letters := uint32(0)
	for i := range len(text) {
		letters = letters<<8&0xffffff | uint32(x.lower[text[i]])
		for n := x.first[hashOf(letters)]; n > 0; n = x.entries[n-1].next {
			k := &x.entries[n-1]
			start := i - 2
			if start < 0 || !x.at(text, start, k) || k.names && !assigns(text[start:min(len(text), start+maxName)]) {
				continue
			}
			reach := gitleaksRules[k.rule].reach
			w := window{k.rule, max(0, start-reach), min(len(text), start+len(k.text)+reach)}
			if n, again := last[k.rule]; again && found[n].to >= w.from {
				found[n].to = w.to
				continue
			}
			if last == nil {
				last = map[int]int{}
			}
			last[k.rule] = len(found)
			found = append(found, w)
		}
	}
	return found
}

// serviceTokens returns the secrets that the rules of gitleaks find.
func serviceTokens(text string) []match {
	var found []match
	for _, w := range keywords().windows(text) {
		for _, groups := range expressionOf(w.rule).FindAllStringSubmatchIndex(withoutEscapes(text[w.from:w.to]), -1) {
			for i := range groups {
				if groups[i] >= 0 {
					groups[i] += w.from
				}
			}
			if f := gitleaksRules[w.rule].secret(text, groups); f.to > 0 {
				found = append(found, f)
			}
		}
	}
	return found
}

// secret returns the secret in a match of the rule, which is given by the offsets of its groups.
func (g *gitleaksRule) secret(text string, groups []int) match {
	n := g.group
	for i := 1; n == 0 && i < len(groups)/2; i++ {
		if groups[2*i] < groups[2*i+1] {
			n = i
		}
	}
	from, to := groups[2*n], groups[2*n+1]
	value := text[from:to]
	if entropy(value) <= g.entropy || placeholder(value) {
		return match{}
	}
	if !g.assigned() {
		return match{from, scanWhile(text, to, len(text), tokenByte), g.kind}
	}
	if !mixed(value) || publicName(text[groups[0]:from]) {
		return match{}
	}
	return match{from, to, g.kind}
}

// publicName reports whether one of the words of a name says that its value is not a secret.
func publicName(name string) bool {
	words := wordsOf(strings.Map(func(r rune) rune {
		if notWord(r) {
			return '_'
		}
		return r
	}, name))
	return slices.ContainsFunc(words, func(word string) bool {
		switch word {
		case "hash", "digest", "checksum", "integrity", "sha", "md", "commit", "revision", "rev", "version", "etag", "uuid", "public":
			return true
		}
		return slices.Contains(publicSuffixes, word)
	})
}

// entropy returns the Shannon entropy of a text in bits per byte, as gitleaks computes it.
func entropy(text string) float64 {
	var counts [256]int
	for i := range len(text) {
		counts[text[i]]++
	}
	bits := 0.0
	for _, n := range counts {
		if n > 0 {
			share := float64(n) / float64(len(text))
			bits -= share * math.Log2(share)
		}
	}
	return bits
}

// withoutEscapes returns a text of the same length in which spaces replace what programs insert: \n and \" in a quoted
// text, %3D in a URL, terminal colours.
func withoutEscapes(text string) string {
	if !strings.ContainsAny(text, "\\%\x1b") {
		return text
	}
	plain := []byte(text)
	blank := func(from, to int) {
		for i := from; i < min(to, len(plain)); i++ {
			plain[i] = ' '
		}
	}
	for i := range len(text) - 1 {
		switch next := text[i+1]; {
		case text[i] == '\\' && strings.IndexByte("nrt", next) >= 0:
			blank(i, i+2)
		case text[i] == '\\' && (next == '\\' || quote(next)):
			blank(i, i+1)
		case text[i] == '%' && strings.IndexByte("234", next) >= 0 && i+2 < len(text) && hexDigit(text[i+2]):
			blank(i, i+3)
		case text[i] == '\x1b' && next == '[':
			blank(i, scanWhile(text, i+2, 16, func(c byte) bool { return digit(c) || c == ';' })+1)
		}
	}
	return string(plain)
}

func hexDigit(c byte) bool { return digit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }
