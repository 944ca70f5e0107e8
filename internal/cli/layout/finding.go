package layout

import (
	"fmt"
	"io"

	"pawl"
	"pawl/internal/oneline"
)

// PrintFinding prints a finding, and its hint in a line of its own.
func PrintFinding(w io.Writer, f pawl.Finding) {
	fmt.Fprintf(w, "%-4s  ", f.Level)
	if f.Where != "" {
		fmt.Fprintf(w, "%s: ", oneline.Path(f.Where))
	}
	fmt.Fprint(w, f.What)
	if f.Evidence != "" {
		fmt.Fprintf(w, " (%s)", f.Evidence)
	}
	fmt.Fprintln(w)
	if f.Hint != "" {
		fmt.Fprintf(w, "      %s\n", f.Hint)
	}
}
