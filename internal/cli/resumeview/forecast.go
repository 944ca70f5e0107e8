package resumeview

import (
	"fmt"
	"io"
	"time"

	"pawl"
	"pawl/internal/decide"
	"pawl/internal/project"
	"pawl/internal/resume"
	"pawl/internal/runs"
)

// Forecast is what `pawl why --json` prints.
type Forecast struct {
	Steps  []decide.Decision `json:"steps"`
	Change *resume.PlanDiff  `json:"change"` // what changed in the plan and its inputs; null: the run has no plan
}

// ForecastOf returns what a resume would do with each step of a run, with values that the caller gives anew.
func ForecastOf(p *project.Project, r *runs.Run, given pawl.GivenValues, onRun func(command string) string) (f Forecast, err error) {
	if f.Change, err = resume.DiffPlan(p, r, given); err != nil {
		return f, err
	}
	verdicts, err := resume.Interrupted(p, r, f.Change)
	if err != nil {
		return f, err
	}
	steps, err := Steps(p, r, f.Change, verdicts, onRun)
	f.Steps = append([]decide.Decision{}, steps...) // in JSON a list, also an empty one
	return f, err
}

// Steps returns what a resume would do with each step, and with the cells of notebooks.
func Steps(p *project.Project, r *runs.Run, change *resume.PlanDiff, verdicts []resume.Judged, onRun func(command string) string) ([]decide.Decision, error) {
	steps, err := decide.Forecast(r, change, verdicts, time.Now(), onRun)
	for i := range steps {
		x := &steps[i]
		if x.Do != decide.Run && x.Do != decide.Fail && x.Do != decide.Wait {
			continue
		}
		text, cellsErr := resume.RerunCells(p, r, change.Plan(), x.Step)
		if cellsErr != nil {
			text = "which cells run is unknown: " + cellsErr.Error()
		}
		if text != "" && x.Do == decide.Fail {
			text = "after a retry, " + text
		}
		if text != "" {
			x.Why += "; " + text
		}
	}
	return steps, err
}

// Print prints what a resume would do, and with items also the unfinished items of foreach steps.
func (f Forecast) Print(w io.Writer, run pawl.RunID, items bool) {
	if len(f.Steps) == 0 {
		fmt.Fprintf(w, "run %s has no plan, so there are no steps to run\n", run)
	}
	Decisions(w, "", f.Steps, items)
	PlanDiff(w, f.Change, false)
}
