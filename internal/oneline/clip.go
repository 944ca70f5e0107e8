// Package oneline makes text fit one line of output: clipped and quoted.
package oneline

import (
	"strconv"
	"strings"
)

// Clip returns a text as it is, or of one that is longer as many bytes of it, and a sign that there was more.
func Clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// Quote returns the beginning of a text in quotes, in one line, as findings name what stands in a file.
func Quote(text string) string {
	const enough = 60
	return strconv.Quote(Clip(text, enough))
}
