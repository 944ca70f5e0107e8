// Package updateview compares a plan with the newest earlier run of it, for pawl run --update, and prints the result.
package updateview

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"pawl"
	"pawl/internal/cli/resumeview"
	"pawl/internal/cli/supply"
	"pawl/internal/decide"
	"pawl/internal/planfile"
	"pawl/internal/project"
	"pawl/internal/resume"
	"pawl/internal/runs"
	"pawl/internal/stepenv"
)

// NothingToDo is returned instead of creating a run: everything is up to date.
type NothingToDo struct{ Steps int }

func (n NothingToDo) Error() string {
	if n.Steps == 1 {
		return "nothing to do: 1 step is up to date"
	}
	return fmt.Sprintf("nothing to do: %d steps are up to date", n.Steps)
}

// Update is a new run of the plan at Source.
type Update struct {
	Project *project.Project
	Source  string
	Text    *pawl.Plan // as written
	Given   pawl.GivenValues

	found *resume.Update // by Adopt
}

// Adopt returns a function for runs.CreateOptions. Its error is NothingToDo if everything is up to date.
func (u *Update) Adopt(ctx context.Context) func() ([]pawl.Payload, error) {
	return func() (_ []pawl.Payload, err error) {
		if u.found, err = u.compare(ctx); err != nil {
			return nil, err
		}
		if u.found.UpToDate {
			return nil, NothingToDo{Steps: len(u.Text.Steps())}
		}
		return u.found.Adopt(), nil
	}
}

// Diff returns what the new run does before it starts anything; nil if that is nothing.
func (u *Update) Diff() *resume.PlanDiff {
	if u.found == nil {
		return nil
	}
	return u.found.Diff(u.Text)
}

// compare compares the plan with its newest run.
func (u *Update) compare(ctx context.Context) (*resume.Update, error) {
	plan := stepenv.Resolve(u.Text, u.Given)
	run, err := runs.FindEarlier(ctx, u.Project, u.Source)
	if pawl.KindOf(err) == pawl.KindDamaged {
		why := fmt.Errorf("cannot read run %s, which may be the last one of this plan: %w", run, err)
		return nil, &pawl.Error{Kind: pawl.KindDamaged, Err: why, Hint: "pawl verify"}
	}
	if err != nil {
		return nil, err
	}
	if run == "" {
		return resume.PlanUpdate(u.Project, nil, plan)
	}
	old, err := runs.LoadToContinue(ctx, u.Project, run)
	if err != nil {
		return nil, err
	}
	found, err := resume.PlanUpdate(u.Project, old, plan)
	return found, errors.Join(err, old.VerifyCache(ctx), old.Log.Close())
}

// Report is what a new run would do; it is printed as JSON.
type Report struct {
	Earlier  pawl.RunID        `json:"earlier,omitempty"` // the run whose results are adopted
	UpToDate bool              `json:"up_to_date"`
	Steps    []decide.Decision `json:"steps"`
}

// Forecast returns what a new run of a plan would do.
func Forecast(ctx context.Context, p *project.Project, n runs.CreateOptions, given supply.Flags) (*Report, error) {
	loaded, err := planfile.Load(n.Source, n.Data, runs.Includes(p.Root, n.Source))
	if err != nil {
		return nil, err
	}
	plan := loaded.Plan
	values, err := supply.Collect(supply.Request{Project: p, Plan: plan, Name: n.Source, File: loaded.File, Flags: given})
	if err != nil {
		return nil, err
	}
	u, err := (&Update{Project: p, Source: n.Source, Text: plan, Given: values.New}).compare(ctx)
	if err != nil {
		return nil, err
	}
	steps, err := decide.ForecastUpdate(u, time.Now(), func(command string) string { return command })
	return &Report{Earlier: u.From, UpToDate: u.UpToDate, Steps: steps}, err
}

// Print prints what a new run would do.
func (r *Report) Print(w io.Writer, items bool) {
	if r.Earlier == "" {
		fmt.Fprintln(w, "there is no earlier run of this plan")
	} else {
		fmt.Fprintf(w, "compared with run %s\n", r.Earlier)
	}
	resumeview.Decisions(w, "", r.Steps, items)
	if r.UpToDate {
		fmt.Fprintln(w, NothingToDo{Steps: len(r.Steps)})
	}
}

// Again returns a note for a plan that runs again although its newest run has completed.
func Again(ctx context.Context, p *project.Project, source, path string) []string {
	run, err := runs.FindEarlier(ctx, p, source)
	if err != nil || run == "" {
		return nil // whatever is wrong with an older run, a new one starts
	}
	s, err := runs.LoadState(ctx, p, run)
	if err != nil || s.Status != pawl.StatusCompleted {
		return nil
	}
	return []string{fmt.Sprintf("run %s of this plan is complete, and every step runs again; to run only what changed: pawl run --update %s", run, path)}
}
