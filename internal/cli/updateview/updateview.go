// Package updateview compares a plan with the newest earlier run of it, for pawl run --update, and prints the result.
package updateview

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"pawl"
	"pawl/internal/cli/layout"
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
type NothingToDo struct {
	Steps  int
	Unseen []pawl.StepID // steps whose items may have changed unseen
}

// Notes says which changes the comparison does not see.
func (n NothingToDo) Notes() []string { return unseenNotes(n.Unseen) }

func unseenNotes(steps []pawl.StepID) (notes []string) {
	for _, id := range steps {
		notes = append(notes, fmt.Sprintf("step %s does not see changes in the files of its items; add %s to it", id, pawl.ItemInput))
	}
	return notes
}

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
			return nil, NothingToDo{Steps: len(u.Text.Steps()), Unseen: u.unseen()}
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

// unseen returns the steps that adopt items whose files may have changed unseen.
func (u *Update) unseen() (steps []pawl.StepID) {
	for _, step := range u.Text.Steps() {
		if _, adopted := u.found.Lists[step.ID]; adopted && u.Text.MissesItemFiles(step) {
			steps = append(steps, step.ID)
		}
	}
	return steps
}

// maxReasons is how many steps a new run gives a reason for; pawl why --update has all.
const maxReasons = 10

// PrintReasons prints why steps are not up to date, once Adopt has compared them, and which changes it did not see.
func (u *Update) PrintReasons(w io.Writer) {
	if u.found == nil || u.found.From == "" || u.found.UpToDate {
		return
	}
	u.printWhy(w)
	for _, note := range unseenNotes(u.unseen()) {
		fmt.Fprintln(w, "note: "+note)
	}
}

func (u *Update) printWhy(w io.Writer) {
	printed := 0
	for _, step := range u.Text.Steps() {
		why := u.found.Why[step.ID]
		switch {
		case why == "":
			continue
		case printed == 0:
			fmt.Fprintf(w, "compared with run %s, not up to date:\n", u.found.From)
		case printed == maxReasons:
			fmt.Fprintln(w, "  and more; pawl why lists all steps")
			return
		}
		fmt.Fprintf(w, "  %-18s %s\n", step.ID, layout.OneLine(why))
		printed++
	}
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
	Parallel pawl.Parallel     `json:"parallel"` // how many attempts would run at a time
	Steps    []decide.Decision `json:"steps"`

	concurrent bool // the limit matters
}

// Forecast returns what a new run of a plan would do.
func Forecast(ctx context.Context, p *project.Project, n runs.CreateOptions, given supply.Flags, limit func(*pawl.Plan) pawl.Parallel) (*Report, error) {
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
	return &Report{Earlier: u.From, UpToDate: u.UpToDate, Parallel: limit(plan), Steps: steps, concurrent: plan.Concurrent()}, err
}

// Print prints what a new run would do.
func (r *Report) Print(w io.Writer, items bool) {
	if r.Earlier == "" {
		fmt.Fprintln(w, "there is no earlier run of this plan")
	} else {
		fmt.Fprintf(w, "compared with run %s\n", r.Earlier)
	}
	if r.concurrent {
		fmt.Fprintf(w, "parallel: %s\n", r.Parallel)
	}
	resumeview.Decisions(w, "", r.Steps, items)
	if r.UpToDate {
		fmt.Fprintln(w, NothingToDo{Steps: len(r.Steps)})
	}
}

// Again returns a note for a plan that runs again although its newest run has completed or failed.
func Again(ctx context.Context, p *project.Project, source, path string) []string {
	run, err := runs.FindEarlier(ctx, p, source)
	if err != nil || run == "" {
		return nil // whatever is wrong with an older run, a new one starts
	}
	s, err := runs.LoadState(ctx, p, run)
	ofNotebook := filepath.Dir(source) == filepath.Dir(p.NotebookPlan("")) // results of kernel steps are not reused
	switch {
	case err != nil:
		return nil
	case ofNotebook && s.Status == pawl.StatusFailed:
		return []string{fmt.Sprintf("run %s of this notebook failed, and all cells run again; to continue it at the failed cell: pawl retry notebook --run %[1]s", run)}
	case ofNotebook:
		return nil
	case s.Status == pawl.StatusFailed:
		return []string{fmt.Sprintf("run %s of this plan failed, and every step runs again; to reuse what is up to date: pawl run --update %s; "+
			"to repair that run: pawl retry STEP --run %s", run, path, run)}
	case s.Status != pawl.StatusCompleted:
		return nil
	}
	return []string{fmt.Sprintf("run %s of this plan is complete, and every step runs again; to run only what changed: pawl run --update %s", run, path)}
}
