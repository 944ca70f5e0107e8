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

// PrintFindings prints findings and how many there are.
func PrintFindings(w io.Writer, findings []pawl.Finding) {
	for _, f := range findings {
		PrintFinding(w, f)
	}
	fmt.Fprintf(w, "%s, %s, %s\n", Count(len(findings), "check"), Count(CountLevel(findings, pawl.Warn), "warning"), Count(CountLevel(findings, pawl.Bad), "fault"))
}

// CountLevel returns how many findings are of a level.
func CountLevel(findings []pawl.Finding, level pawl.Level) (n int) {
	for _, f := range findings {
		if f.Level == level {
			n++
		}
	}
	return n
}
