package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli/processview"
	"pawl/internal/project"
	"pawl/internal/runs"
	"pawl/internal/sessions"
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

func (a *app) processes(p *project.Project, r *runs.Run, end bool) error {
	report := processview.Report{Run: r.State.Run, Unknown: process.Limitations}
	var err error
	if report.Processes, err = runs.Processes(p, r.State); err != nil {
		return err
	}
	report.Processes = append(report.Processes, sessions.Processes(p, r.State)...)
	if end {
		if report.Ended, report.Left, err = runs.EndProcesses(report.Processes); err != nil {
			return err
		}
	}
	names := r.ItemNames()
	for i, x := range report.Processes {
		if x.Item != "" {
			if value := names.Of(pawl.AttemptRef{Step: x.Step, Item: x.Item}); value != string(x.Item) {
				report.Processes[i].Value = value
			}
		}
	}
	if a.json {
		return a.printJSON(report)
	}
	for _, x := range report.Processes {
		processview.Print(a.Out, x, names.In(x.Name()), r.Plan.Step(x.Step))
	}
	processview.PrintSummary(a.Out, report, end)
	if !end && report.Endable() {
		fmt.Fprintf(a.Err, "pawl: hint: pawl processes %s --end\n", report.Run)
	}
	if report.Unknown != "" {
		a.printNotes([]string{report.Unknown})
	}
	return nil
}
