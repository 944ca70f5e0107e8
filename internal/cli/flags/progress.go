package flags

import (
	"strconv"
	"strings"

	"pawl"
)

// Progress reads "20/180", "45%" or plain text.
func Progress(text string) *pawl.Progress {
	p := &pawl.Progress{Text: text}
	first, _, _ := strings.Cut(text, " ")
	if of, total, ok := strings.Cut(first, "/"); ok {
		d, err1 := strconv.ParseFloat(of, 64)
		t, err2 := strconv.ParseFloat(total, 64)
		if err1 == nil && err2 == nil {
			p.Done, p.Total = &d, &t
		}
	} else if percent, ok := strings.CutSuffix(first, "%"); ok {
		if d, err := strconv.ParseFloat(percent, 64); err == nil {
			p.Done = &d
		}
	}
	return p
}
