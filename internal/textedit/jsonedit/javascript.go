package jsonedit

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Stringify returns the value as JavaScript writes it again: JSON.stringify(JSON.parse(text), null, indent). Keys that
// look like indexes of an array come first, by number; of a key that comes twice the last value stands at the first one's
// place; numbers are what a float64 keeps of them, an infinite one is null.
func (v *Value) Stringify(indent string) []byte {
	l := layout{unit: indent, newline: "\n", colon: ": ", comma: ",", javascript: true}
	if indent == "" {
		l.inline, l.colon = true, ":"
	}
	return l.append(nil, v, "")
}

// inJavaScriptOrder returns an object's members as JavaScript keeps them.
func inJavaScriptOrder(members []Member) []Member {
	if areOrdinary(members) {
		return members
	}
	at := make(map[string]int, len(members))
	var kept []Member
	for _, m := range members {
		if i, twice := at[m.Key]; twice {
			kept[i].Value = m.Value
			continue
		}
		at[m.Key] = len(kept)
		kept = append(kept, m)
	}
	slices.SortStableFunc(kept, func(a, b Member) int {
		i, aIndex := index(a.Key)
		j, bIndex := index(b.Key)
		switch {
		case aIndex && bIndex:
			return int(i) - int(j)
		case aIndex:
			return -1
		case bIndex:
			return 1
		}
		return 0
	})
	return kept
}

// few is the number of members up to which a linear search for duplicates is faster than a map.
const few = 16

// areOrdinary reports whether an object has few members, no index keys and no duplicate keys.
func areOrdinary(members []Member) bool {
	if len(members) > few {
		return false
	}
	for i, m := range members {
		if _, isIndex := index(m.Key); isIndex || slices.ContainsFunc(members[:i], func(other Member) bool { return other.Key == m.Key }) {
			return false
		}
	}
	return true
}

// index returns the array index that a key is in JavaScript: 0 to 2³²-2, without leading zeros.
func index(key string) (uint32, bool) {
	if key == "" || key[0] < '0' || key[0] > '9' {
		return 0, false
	}
	n, err := strconv.ParseUint(key, 10, 32)
	if err != nil || n == math.MaxUint32 || strconv.FormatUint(n, 10) != key {
		return 0, false
	}
	return uint32(n), true
}

// appendNumber appends a number as JavaScript writes it.
func appendNumber(out []byte, f float64) []byte {
	switch size := math.Abs(f); {
	case math.IsInf(f, 0) || math.IsNaN(f):
		return append(out, "null"...)
	case f == 0: // also -0
		return append(out, '0')
	case size >= 1e21 || size < 1e-6:
		return appendExponent(out, f)
	}
	return strconv.AppendFloat(out, f, 'f', -1, 64)
}

// appendExponent appends 1e-7 for what Go writes as 1e-07.
func appendExponent(out []byte, f float64) []byte {
	text := strconv.AppendFloat(nil, f, 'e', -1, 64)
	e := bytes.IndexByte(text, 'e')
	exponent := bytes.TrimLeft(text[e+2:], "0")
	return append(append(out, text[:e+2]...), exponent...)
}

// appendQuoted appends a string as JavaScript writes it: only what must be escaped is, and halves of surrogate pairs.
func appendQuoted(out []byte, s string) []byte {
	out = append(out, '"')
	done := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c != 0xed {
			continue
		}
		half, isHalf := halfPair(s[i:])
		if c == 0xed && !isHalf {
			continue
		}
		out = append(out, s[done:i]...)
		if isHalf {
			i += 2
			if low, _ := halfPair(s[i+1:]); utf16.DecodeRune(half, low) != utf8.RuneError { // both halves: a character
				out = utf8.AppendRune(out, utf16.DecodeRune(half, low))
				i += 3
			} else {
				out = append(append(out, `\u`...), strconv.FormatUint(uint64(half), 16)...)
			}
		} else {
			out = appendEscaped(out, c)
		}
		done = i + 1
	}
	return append(append(out, s[done:]...), '"')
}

// appendEscaped appends the escape of a control character, a quote or a backslash.
func appendEscaped(out []byte, c byte) []byte {
	if i := strings.IndexByte("\b\f\n\r\t\"\\", c); i >= 0 {
		return append(out, '\\', `bfnrt"\`[i])
	}
	return append(append(out, `\u00`...), "0123456789abcdef"[c>>4], "0123456789abcdef"[c&15])
}

// halfPair returns the half of a surrogate pair that s begins with, as appendRune encodes it.
func halfPair(s string) (rune, bool) {
	if len(s) < 3 || s[0] != 0xed || s[1] < 0xa0 || s[1] > 0xbf || s[2]&0xc0 != 0x80 {
		return 0, false
	}
	return 0xd000 | rune(s[1]&0x3f)<<6 | rune(s[2]&0x3f), true
}
