package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli/layout"
	"pawl/internal/project"
	"pawl/internal/runs"
	"pawl/internal/supervise/process"
)

func (a *app) processesCommand() *cobra.Command {
	var end bool
	c := a.readRunCommand("processes [RUN]", "List a run's processes, including those left over after a crash", func(_ context.Context, p *project.Project, r *runs.Run) error {
		return a.processes(p, r, end)
	})
	c.Flags().BoolVar(&end, "end", false, "terminate leftover processes that provably belong to this run")
	return a.jsonFlag(c)
}

// processReport is what `pawl processes --json` prints.
type processReport struct {
	Run       pawl.RunID     `json:"run"`
	Processes []runs.Process `json:"processes"`
	Ended     int            `json:"ended,omitempty"`
	Left      []int          `json:"left,omitempty"` // could not be terminated, or are not proven to belong to the run
	Unknown   string         `json:"unknown,omitempty"`
}

func (a *app) processes(p *project.Project, r *runs.Run, end bool) error {
	report := processReport{Run: r.State.Run, Unknown: process.Limitations}
	var err error
	if report.Processes, err = runs.Processes(p, r.State.Run); err != nil {
		return err
	}
	if end {
		if report.Ended, report.Left, err = runs.EndProcesses(report.Processes); err != nil {
			return err
		}
	}
	if a.json {
		return a.printJSON(report)
	}
	for _, x := range report.Processes {
		a.printProcess(x, serviceFact(r.Plan.Step(x.Step)))
	}
	a.printProcessSummary(report, end)
	return nil
}

// serviceFact says when the process of a service ends without an engine; "" for other steps.
func serviceFact(step *pawl.Step) string {
	if step == nil || step.Service == nil {
		return ""
	}
	return fmt.Sprintf("service; ends after %s if no pawl works on the run", step.Service.Orphan)
}

func (a *app) printProcess(x runs.Process, more string) {
	age := time.Duration(x.Seconds * float64(time.Second)).Round(time.Second)
	fmt.Fprintf(a.Out, "%-8d %-20s attempt %-8s %8s  %s\n", x.PID, x.Name(), x.Try, age, x.Command)
	facts := []string{ownership(x)}
	if len(x.Listens) > 0 {
		facts = append(facts, "listens on "+strings.Join(x.Listens, ", "))
	}
	if len(x.Open) > 0 {
		facts = append(facts, "can write "+strings.Join(x.Open, ", "))
	}
	if x.Writing {
		facts = append(facts, "is writing to disk")
	}
	if more != "" {
		facts = append(facts, more)
	}
	facts = append(facts, x.Unknown...)
	fmt.Fprintf(a.Out, "         %s\n", strings.Join(facts, "; "))
}

// ownership says how a process is known to belong to the run.
func ownership(x runs.Process) string {
	switch {
	case x.Supervised():
		return "supervised"
	case x.Proof == "":
		return "possibly part of this attempt (unconfirmed); never killed"
	}
	return "orphan of this attempt (matched by " + string(x.Proof) + ")"
}

// printProcessSummary prints what was terminated, or the command that does it.
func (a *app) printProcessSummary(r processReport, end bool) {
	proven := slices.DeleteFunc(slices.Clone(r.Processes), func(x runs.Process) bool { return x.Supervised() || x.Proof == "" })
	switch {
	case end:
		fmt.Fprintf(a.Out, "terminated %s\n", layout.Count(r.Ended, "process"))
		if len(r.Left) > 0 {
			fmt.Fprintf(a.Out, "not terminated: %v\n", r.Left)
		}
	case len(r.Processes) == 0:
		fmt.Fprintf(a.Out, "no processes of run %s are running\n", r.Run)
	case len(proven) > 0:
		fmt.Fprintf(a.Err, "pawl: hint: pawl processes %s --end\n", r.Run)
	}
	if r.Unknown != "" {
		a.printNotes([]string{r.Unknown})
	}
}
