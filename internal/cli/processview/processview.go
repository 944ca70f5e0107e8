// Package processview prints the processes of a run.
package processview

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/cli/layout"
	"pawl/internal/runs"
)

// Report is what `pawl processes --json` prints.
type Report struct {
	Run       pawl.RunID     `json:"run"`
	Processes []runs.Process `json:"processes"`
	Ended     int            `json:"ended,omitempty"`
	Left      []int          `json:"left,omitempty"` // could not be terminated, or are not proven to belong to the run
	Unknown   string         `json:"unknown,omitempty"`
}

// Endable reports whether `pawl processes --end` would terminate a process.
func (r Report) Endable() bool {
	return slices.ContainsFunc(r.Processes, func(x runs.Process) bool { return !x.Supervised() && x.Proof != "" })
}

// Print prints a process. name is that of its step and item.
func Print(w io.Writer, x runs.Process, name string, step *pawl.Step) {
	age := time.Duration(x.Seconds * float64(time.Second)).Round(time.Second)
	of := fmt.Sprintf("%-20s attempt %-8s", name, x.Try)
	if x.Session != "" {
		of = fmt.Sprintf("%-20s tool call       ", x.Session)
	}
	fmt.Fprintf(w, "%-8d %s %8s  %s\n", x.PID, of, age, layout.OneLine(x.Command))
	facts := []string{ownership(x)}
	if x.Dir != "" {
		facts = append(facts, "in "+layout.OneLine(x.Dir))
	}
	if len(x.Listens) > 0 {
		facts = append(facts, "listens on "+strings.Join(x.Listens, ", "))
	}
	if len(x.Open) > 0 {
		facts = append(facts, "can write "+strings.Join(x.Open, ", "))
	}
	if x.Writing {
		facts = append(facts, "is writing to disk")
	}
	if step != nil && step.Service != nil {
		facts = append(facts, fmt.Sprintf("service; ends after %s if no pawl works on the run", step.Service.Orphan))
	}
	facts = append(facts, x.Unknown...)
	fmt.Fprintf(w, "         %s\n", strings.Join(facts, "; "))
}

// ownership says how a process is known to belong to the run.
func ownership(x runs.Process) string {
	switch {
	case x.Supervised():
		return "supervised"
	case x.Unattended:
		return "orphan: its supervisor runs, but the journal says that this attempt has ended"
	case x.Session != "" && x.Proof == "":
		return "possibly left by a tool call (unconfirmed); never killed"
	case x.Session != "":
		return "left running by tool call " + layout.OneLine(x.Call)
	case x.Proof == "":
		return "possibly part of this attempt (unconfirmed); never killed"
	}
	return "orphan of this attempt (matched by " + string(x.Proof) + ")"
}

// PrintSummary prints what was terminated, or that there is nothing.
func PrintSummary(w io.Writer, r Report, end bool) {
	switch {
	case end:
		fmt.Fprintf(w, "terminated %s\n", layout.Count(r.Ended, "process"))
		if len(r.Left) > 0 {
			fmt.Fprintf(w, "not terminated: %v\n", r.Left)
		}
	case len(r.Processes) == 0:
		fmt.Fprintf(w, "no processes of run %s are running\n", r.Run)
	}
}
