package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/project"
	"pawl/internal/runs"
	"pawl/internal/supervise/process"
)

func (a *app) processesCommand() *cobra.Command {
	var end bool
	c := a.reading("processes [RUN]", "List what a run's attempts have running, also what a dead one left", func(_ context.Context, p *project.Project, r *runs.Run) error {
		return a.processes(p, r, end)
	})
	c.Flags().BoolVar(&end, "end", false, "end what is left, if it is proven to be this run's")
	return a.jsonFlag(c)
}

// processReport is what `pawl processes --json` prints.
type processReport struct {
	Run       pawl.RunID     `json:"run"`
	Processes []runs.Process `json:"processes"`
	Ended     int            `json:"ended,omitempty"`
	Left      []int          `json:"left,omitempty"` // could not be ended, or are not proven to be the run's
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
		a.printProcess(x)
	}
	a.sumUp(report, end)
	return nil
}

func (a *app) printProcess(x runs.Process) {
	age := time.Duration(x.Seconds * float64(time.Second)).Round(time.Second)
	fmt.Fprintf(a.Out, "%-8d %-20s attempt %-8s %8s  %s\n", x.PID, x.Name(), x.Try, age, x.Command)
	facts := []string{whose(x)}
	if len(x.Listens) > 0 {
		facts = append(facts, "listens at "+strings.Join(x.Listens, ", "))
	}
	if len(x.Open) > 0 {
		facts = append(facts, "can write "+strings.Join(x.Open, ", "))
	}
	if x.Writing {
		facts = append(facts, "writes to the disk")
	}
	facts = append(facts, x.Unknown...)
	fmt.Fprintf(a.Out, "         %s\n", strings.Join(facts, "; "))
}

// whose says how a process is known to be the run's.
func whose(x runs.Process) string {
	switch {
	case x.Supervised():
		return "its supervisor looks after it"
	case x.Proof == "":
		return "may be of this attempt, which is not proven: it is never ended"
	}
	return "left behind, and proven to be of this attempt by its " + string(x.Proof)
}

// sumUp says what is to be done about what was found.
func (a *app) sumUp(r processReport, end bool) {
	proven := slices.DeleteFunc(slices.Clone(r.Processes), func(x runs.Process) bool { return x.Supervised() || x.Proof == "" })
	switch {
	case end:
		fmt.Fprintf(a.Out, "%d processes ended\n", r.Ended)
		if len(r.Left) > 0 {
			fmt.Fprintf(a.Out, "left alone: %v\n", r.Left)
		}
	case len(r.Processes) == 0:
		fmt.Fprintf(a.Out, "nothing of run %s runs\n", r.Run)
	case len(proven) > 0:
		fmt.Fprintf(a.Err, "pawl: hint: pawl processes %s --end\n", r.Run)
	}
	if r.Unknown != "" {
		a.sayNotes([]string{r.Unknown})
	}
}
