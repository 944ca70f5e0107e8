package layout

import (
	"strings"

	"github.com/clipperhouse/displaywidth"
)

// Width returns how many columns of a terminal a text takes: 2 for a wide character such as a Chinese one, 0 for an accent that joins
// the character before it.
func Width(text string) int { return displaywidth.String(text) }

// Fit cuts a text so that it takes at most width columns. A width of 0 or less means no limit.
func Fit(text string, width int) string {
	if width <= 0 || Width(text) <= width {
		return text
	}
	return displaywidth.TruncateString(text, width, "…")
}

// Pad adds spaces up to a width.
func Pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-Width(text)))
}

// Printable returns a text as one line without tabs, colors or control characters, as a terminal shows it at any position.
func Printable(text string) string {
	text, _, _ = strings.Cut(WithoutColours(text), "\n")
	return Visible(strings.ReplaceAll(text, "\t", "    "))
}

// WithoutColours removes the sequences that set colors (SGR).
func WithoutColours(text string) string {
	if !strings.Contains(text, "\x1b") {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		if text[0] == '\x1b' {
			if n := colourLength([]byte(text[:min(len(text), maxSequence)])); n > 0 {
				text = text[n:]
				continue
			}
		}
		b.WriteByte(text[0])
		text = text[1:]
	}
	return b.String()
}
