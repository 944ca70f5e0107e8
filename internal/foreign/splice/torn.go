package splice

import "slices"

// Torn returns what is whole of a text that is no JSON, closed so that it is some, and the rest of it: of a text that was
// cut off all members and elements but the one that was being written. Without anything whole the first is empty.
func Torn(text []byte) (whole, rest []byte) {
	end, open := 0, []byte{} // where the last whole thing ends, and what closes all that is open there
	quoted, wrong := false, wrongIn(text)
	for i := 0; i < wrong; i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			open, end = append(open, c+2), i+1 // { and }, [ and ] are two apart
		case c == '}' || c == ']':
			open, end = open[:len(open)-1], i+1
		case c == ',':
			end = i
		}
	}
	slices.Reverse(open)
	return slices.Concat(text[:end], open), text[end:]
}

// wrongIn returns where a text stops being JSON.
func wrongIn(text []byte) int {
	s := &jsonScanner{text: text}
	s.all()
	if s.wrong == "" {
		return len(text)
	}
	return min(s.failed, len(text))
}
