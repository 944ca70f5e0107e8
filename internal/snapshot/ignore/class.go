package ignore

import "strings"

// matchClass matches a bracket expression against c; size is its length. An unterminated one matches nothing.
func matchClass(pattern string, c byte, fold bool) (size int, ok bool) {
	start := 1
	inverted := strings.HasPrefix(pattern[1:], "!") || strings.HasPrefix(pattern[1:], "^")
	if inverted {
		start++
	}
	matched, before := false, byte(0)
	for i := start; i < len(pattern); {
		if pattern[i] == ']' && i > start {
			return i + 1, matched != inverted && c != '/'
		}
		m, ok := readMember(pattern[i:], before)
		if !ok {
			return 0, false
		}
		matched = matched || m.has(c, fold)
		i, before = i+m.size, m.last
	}
	return 0, false
}

// A member is one element of a bracket expression: a byte, the end of a range ("-z" in "a-z"), or a named class.
type member struct {
	size      int
	low, high byte
	isRange   bool
	class     string
	last      byte // byte that can start a range with the next member, or 0
}

// readMember parses the member at the start of text. It fails if the text ends too early or names an unknown class.
func readMember(text string, before byte) (member, bool) {
	switch {
	case text[0] == '-' && before != 0 && len(text) > 1 && text[1] != ']':
		high, size := readByte(text[1:])
		return member{size: 1 + size, low: before, high: high, isRange: true}, size > 0
	case strings.HasPrefix(text, "[:"):
		if class, rest, ok := strings.Cut(text[2:], "]"); !ok {
			return member{}, false
		} else if class, ok = strings.CutSuffix(class, ":"); ok {
			return member{size: len(text) - len(rest), class: class}, knownClass(class)
		}
	}
	c, size := readByte(text)
	return member{size: size, low: c, high: c, last: c}, size > 0
}

// readByte reads one byte, which may be escaped; size is 0 at the end of the text.
func readByte(text string) (c byte, size int) {
	switch {
	case text[0] != '\\':
		return text[0], 1
	case len(text) > 1:
		return text[1], 2
	default:
		return 0, 0
	}
}

// has reports whether the member contains c, which must be lower case if fold is set. Git folds ranges and the class
// "upper", but not single letters.
func (m member) has(c byte, fold bool) bool {
	isLower := 'a' <= c && c <= 'z'
	switch {
	case m.class == "upper" && fold && isLower:
		return true
	case m.class != "":
		return inClass(m.class, c)
	case m.isRange && fold && isLower && m.low <= c-'a'+'A' && c-'a'+'A' <= m.high:
		return true
	default:
		return m.low <= c && c <= m.high
	}
}

func knownClass(class string) bool {
	switch class {
	case "alnum", "alpha", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "xdigit":
		return true
	}
	return false
}

// inClass covers ASCII only. Like git, it excludes form feed and vertical tab from "space".
func inClass(class string, c byte) bool {
	isUpper, isLower, isDigit := 'A' <= c && c <= 'Z', 'a' <= c && c <= 'z', '0' <= c && c <= '9'
	isAlnum, isGraph := isUpper || isLower || isDigit, '!' <= c && c <= '~'
	switch class {
	case "alnum":
		return isAlnum
	case "alpha":
		return isUpper || isLower
	case "blank":
		return c == ' ' || c == '\t'
	case "cntrl":
		return c < ' ' || c == 0x7f
	case "digit":
		return isDigit
	case "graph":
		return isGraph
	case "lower":
		return isLower
	case "print":
		return isGraph || c == ' '
	case "punct":
		return isGraph && !isAlnum
	case "space":
		return c == ' ' || c == '\t' || c == '\n' || c == '\r'
	case "upper":
		return isUpper
	default: // xdigit
		return isDigit || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
	}
}
