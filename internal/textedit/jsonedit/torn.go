package jsonedit

import "slices"

// Torn splits a truncated text: whole is its longest prefix of complete members and elements, closed to valid JSON; rest is
// the remaining text. whole is empty if nothing is complete.
func Torn(text []byte) (whole, rest []byte) {
	end, depth := 0, 0 // end of the last complete element, and how many containers are open there
	open := []byte{}   // the brackets that close them
	quoted, wrong := false, wrongIn(text)
	for i := 0; i < wrong; i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if open = append(open, c+2); end == 0 { // { and }, [ and ] are two apart
				end, depth = i+1, 1
			}
		case c == '}' || c == ']':
			open = open[:len(open)-1]
			end, depth = i+1, len(open)
		case c == ',':
			end, depth = i, len(open)
		}
	}
	closing := open[:depth]
	slices.Reverse(closing)
	return slices.Concat(text[:end], closing), text[end:]
}

// wrongIn returns the offset of the first syntax error.
func wrongIn(text []byte) int {
	s := &scanner{text: text}
	s.all()
	if s.wrong == "" {
		return len(text)
	}
	return min(s.failed, len(text))
}
