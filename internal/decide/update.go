package decide

import (
	"time"

	"pawl"
	"pawl/internal/resume"
)

// ForecastUpdate returns what a new run that adopts earlier results would do with each step of its plan, like Forecast.
func ForecastUpdate(u *resume.Update, now time.Time, onRun func(command string) string) ([]Decision, error) {
	c := u.Diff(u.Plan())
	f := newForecast(pawl.NewState(), c, now, onRun)
	f.values = func(id pawl.StepID) ([]string, error) { return u.Lists[id], nil }
	f.fold(pawl.RunCreated{Format: pawl.Format, Run: "new", Kind: pawl.PlanRun, Name: c.Plan().Name, Shell: pawl.DefaultShell})
	f.fold(pawl.RunPlanned{Revision: 1, Steps: len(f.plan.InOrder), Goal: c.Plan().Goal, Mode: c.Plan().Mode})
	f.fold(u.Adopt()...)
	decisions, err := f.decisions()
	for i := range decisions {
		x, st := &decisions[i], f.state.Steps[decisions[i].Step]
		why, known := u.Why[x.Step]
		step := f.plan.ByID[x.Step]
		switch {
		case u.UpToDate && step.Gate != nil: // no run starts, so nothing is asked
			*x = Decision{Step: x.Step, Do: Skip, Why: "up to date, answered in " + string(u.From)}
		case u.UpToDate:
			x.Do, x.Runs = Skip, false
		case known && x.Do == Run && st == nil:
			x.Why = why
		}
		if x.Do == Skip && step.Gate == nil && len(step.Inputs)+len(f.plan.Needs[x.Step]) == 0 && step.Foreach == nil {
			x.Why += "; it has no inputs and no needs"
		}
	}
	return decisions, err
}
