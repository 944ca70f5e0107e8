// Package oneline shortens and quotes text to fit in one line of output.
package oneline

import (
	"strconv"
	"strings"
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
