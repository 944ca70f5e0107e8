package resumeview

import (
	"fmt"
	"io"
	"strings"

	"pawl"
	"pawl/internal/cli/layout"
	"pawl/internal/decide"
)

// Decisions prints a line for each step. indent begins each line. each adds a line for each item that
// is not finished.
func Decisions(w io.Writer, indent string, steps []decide.Decision, each bool) {
	for _, x := range steps {
		fmt.Fprintf(w, "%s%-7s  %-20s %s%s\n", indent, x.Do, x.Step, reason(x), items(x))
		if each {
			for _, item := range x.Each {
				fmt.Fprintf(w, "%s%-7s    %-18s %s\n", indent, item.Do, layout.OneLine(item.Value), item.Why)
			}
		}
	}
}

// reason is why a decision is made, with the values of items in place of their ids.
func reason(x decide.Decision) string {
	text := x.Why
	for _, item := range x.Each {
		if id := string(pawl.ItemIDOf(item.Value)); id != item.Value {
			text = strings.Replace(text, id+": ", layout.OneLine(item.Value)+": ", 1)
		}
	}
	return text
}

// values lists the first values of items.
func values(all []string) string {
	names := make([]string, 0, maxItems+1)
	for _, v := range all[:min(len(all), maxItems)] {
		names = append(names, layout.OneLine(v))
	}
	if more := len(all) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

// maxItems is how many items a line names.
const maxItems = 5

// items names the first items that run, in parentheses.
func items(x decide.Decision) string {
	var run []string
	for _, item := range x.Each {
		if item.Do == decide.Run {
			run = append(run, item.Value)
		}
	}
	return layout.Parenthesized(values(run))
}
