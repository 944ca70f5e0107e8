package oneline

import (
	"fmt"
	"strings"
)

// Path returns a file's name as git prints it: in quotes if it contains a quote, a backslash, a control character or a byte
// that is not UTF-8. So each file of a list takes one line, and no name looks like another one.
func Path(name string) string {
	if !strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' || r == 0x7f || r == '\uFFFD' }) {
		return name
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(name) {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\t':
			b.WriteString(`\t`)
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// Few lists the names of files like Paths, three at most.
func Few(names []string) string {
	if len(names) > 3 {
		return fmt.Sprintf("%s and %d more", Paths(names[:2]), len(names)-2)
	}
	return Paths(names)
}

// Paths lists the names of files in one line.
func Paths(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = Path(name)
	}
	return strings.Join(quoted, ", ")
}
