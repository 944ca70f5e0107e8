package yamledit

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// spelled returns a scalar as it is written on one line; inside of brackets, commas need quotes.
func spelled(v *Value, inline bool) string {
	switch {
	case v.Null:
		return "null"
	case v.bare && isPlain(v.Text, inline), !v.Quoted && isPlain(v.Text, inline) && !looksTyped(v.Text):
		return v.Text
	}
	return quoted(v.Text)
}

// restyled returns a scalar as it is written in place of another, in its style where that can be.
func restyled(old, v *Value, inline bool) string {
	fits := isPlain(v.Text, inline) && (v.bare || !looksTyped(v.Text) || looksTyped(old.Text))
	switch {
	case v.Null:
		return "null"
	case old.style == plain && !old.Null && fits:
		return v.Text
	case old.style == single && !strings.ContainsFunc(v.Text, unsafeInSingle):
		return "'" + strings.ReplaceAll(v.Text, "'", "''") + "'"
	case old.style == plain && old.Null:
		return spelled(v, inline)
	case old.style != plain:
		return quoted(v.Text)
	}
	return spelled(v, inline)
}

func unsafeInSingle(r rune) bool { return !unicode.IsPrint(r) }

// isPlain reports whether a text can stand without quotes, and is then read as the same text.
func isPlain(text string, inline bool) bool {
	if text == "" || !utf8.ValidString(text) || strings.TrimSpace(text) != text {
		return false
	}
	first, _ := utf8.DecodeRuneInString(text)
	if !unicode.IsLetter(first) && !unicode.IsDigit(first) && !strings.ContainsRune("./_(", first) {
		return false
	}
	if strings.Contains(text, ": ") || strings.Contains(text, " #") || strings.HasSuffix(text, ":") || text == "..." {
		return false
	}
	return !strings.ContainsFunc(text, func(r rune) bool {
		return !unicode.IsPrint(r) || r == '\uFEFF' || inline && strings.ContainsRune(",[]{}:", r)
	})
}

var typedWords = []string{"null", "true", "false", "yes", "no", "on", "off", "y", "n", "nan", ".nan", ".inf", "inf"}

// looksTyped reports whether some reader of YAML takes a text without quotes for something else than a text.
func looksTyped(text string) bool {
	if text == "" || slices.Contains(typedWords, strings.ToLower(strings.TrimLeft(text, "+-"))) {
		return true
	}
	return strings.ContainsRune("0123456789.+-", rune(text[0])) &&
		!strings.ContainsFunc(text, func(r rune) bool { return !strings.ContainsRune("0123456789abcdefABCDEFxXoOtTzZ_.:+- ", r) })
}

// quoted returns a text in double quotes.
func quoted(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case unicode.IsPrint(r) && r != '\uFEFF':
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// Render returns a map as lines of YAML, indented by so many spaces, with \n at each line's end. Keys whose value is nil
// are left out.
func Render(v *Value, indent int) string {
	var b strings.Builder
	renderMap(&b, merged(nil, v), indent)
	return b.String()
}

func renderMap(b *strings.Builder, v *Value, indent int) {
	for _, p := range v.Pairs {
		b.WriteString(strings.Repeat(" ", indent))
		renderPair(b, p, indent)
	}
}

// renderPair writes a key and its value; the key's own indentation is there already.
func renderPair(b *strings.Builder, p Pair, indent int) {
	b.WriteString(spelled(Word(p.Key), false))
	b.WriteByte(':')
	renderValue(b, p.Value, indent)
}

// renderValue writes what stands behind a colon or dash that is indented by so many spaces.
func renderValue(b *strings.Builder, v *Value, indent int) {
	switch {
	case v.Kind == Scalar && isBlock(v):
		renderBlock(b, v.Text, indent+2)
	case v.Kind == Scalar || v.Inline || len(v.Pairs)+len(v.Items) == 0:
		b.WriteString(" " + inlined(v) + "\n")
	case v.Kind == Map:
		b.WriteByte('\n')
		renderMap(b, v, indent+2)
	default:
		b.WriteByte('\n')
		for _, item := range v.Items {
			renderItem(b, item, indent+2)
		}
	}
}

// renderItem writes an item of a list whose dashes are indented by so many spaces.
func renderItem(b *strings.Builder, v *Value, indent int) {
	b.WriteString(strings.Repeat(" ", indent) + "-")
	if v.Kind != Map || v.Inline || len(v.Pairs) == 0 {
		renderValue(b, v, indent)
		return
	}
	for i, p := range v.Pairs {
		b.WriteString([]string{" ", strings.Repeat(" ", indent+2)}[min(i, 1)])
		renderPair(b, p, indent+2)
	}
}

// isBlock reports whether a text is written as a block of lines.
func isBlock(v *Value) bool {
	text := strings.TrimSuffix(v.Text, "\n")
	if v.Null || !strings.Contains(text, "\n") || strings.HasPrefix(text, " ") || strings.HasPrefix(text, "\n") || strings.HasSuffix(text, "\n") {
		return false
	}
	return !strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && (!unicode.IsPrint(r) || r == '\uFEFF') || r == utf8.RuneError })
}

func renderBlock(b *strings.Builder, text string, indent int) {
	mark := " |-\n"
	if strings.HasSuffix(text, "\n") {
		mark = " |\n"
	}
	b.WriteString(mark)
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		if line != "" {
			b.WriteString(strings.Repeat(" ", indent) + line)
		}
		b.WriteByte('\n')
	}
}

// inlined returns a value on one line.
func inlined(v *Value) string { return inlinedIn(v, false) }

func inlinedIn(v *Value, inside bool) string {
	var parts []string
	switch v.Kind {
	case Scalar:
		return spelled(v, inside)
	case Map:
		for _, p := range v.Pairs {
			parts = append(parts, spelled(Word(p.Key), true)+": "+inlinedIn(p.Value, true))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	for _, item := range v.Items {
		parts = append(parts, inlinedIn(item, true))
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
