// Package oneline shortens and quotes text to fit in one line of output.
package oneline

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clip returns text if it has at limit limit bytes; otherwise its first limit bytes and an ellipsis.
func Clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}

// Quote returns text in quotes on one line, shortened. Findings use it to cite the content of files.
func Quote(text string) string {
	const enough = 60
	return strconv.Quote(Clip(text, enough))
}

// Printable returns text in one line: without characters that do not print, and with one space for each gap.
func Printable(text string) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r), r == utf8.RuneError:
			return -1
		}
		return r
	}, text)
	return strings.Join(strings.Fields(clean), " ")
}
