package jsonedit

import "slices"

// Torn returns what is whole of a text that is no JSON, closed so that it is some, and the rest of it: of a text that was
// cut off all members and elements but the one that was being written. Without anything whole the first is empty.
func Torn(text []byte) (whole, rest []byte) {
	end, depth := 0, 0 // where the last whole thing ends, and how many are open there
	open := []byte{}   // what closes them
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

// wrongIn returns where a text stops being JSON.
func wrongIn(text []byte) int {
	s := &scanner{text: text}
	s.all()
	if s.wrong == "" {
		return len(text)
	}
	return min(s.failed, len(text))
}
