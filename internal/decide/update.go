package decide

import (
	"cmp"
	"strings"
	"time"

	"pawl"
	"pawl/internal/resume"
)

// ForecastUpdate returns what a new run that adopts earlier results would do with each step of its plan, like Forecast.
func ForecastUpdate(u *resume.Update, now time.Time, onRun func(command string) string) ([]Decision, error) {
	c := u.Diff(u.Plan())
	f := newForecast(pawl.NewState(), c, now, onRun)
	f.values = func(id pawl.StepID) ([]string, error) { return u.Lists[id], nil }
	f.gave = u.Gave
	f.fold(pawl.RunCreated{Format: pawl.Format, Run: "new", Kind: pawl.PlanRun, Name: c.Plan().Name, Shell: pawl.DefaultShell})
	f.fold(pawl.RunPlanned{Revision: 1, Steps: len(f.plan.InOrder), Goal: c.Plan().Goal, Mode: c.Plan().Mode})
	f.fold(u.Adopt()...)
	decisions, err := f.decisions()
	if u.UpToDate { // no run starts, and none ends
		decisions = decisions[:len(f.plan.InOrder)]
	}
	for i := range decisions {
		x, st := &decisions[i], f.start.Steps[decisions[i].Step]
		why, known := u.Why[x.Step]
		step := f.plan.ByID[x.Step]
		switch {
		case u.UpToDate && step.Gate != nil: // no run starts, so nothing is asked
			*x = Decision{Step: x.Step, Do: Skip, Why: "up to date, answered in " + string(u.From)}
		case u.UpToDate:
			x.Do, x.Runs = Skip, false
		case known && x.Do == Run && st == nil:
			x.Why = why
		case known && x.Do == Run:
			x.explainItems(why, u.Items[x.Step])
		}
		_, adopted := u.Lists[x.Step]
		if unseen := u.Plan().Unseen(step, f.plan.Needs[x.Step]); unseen != "" && (adopted || x.Do == Skip) {
			x.Why += "; " + unseen
		}
	}
	return decisions, err
}

// explainItems says why items of a step are not up to date.
func (x *Decision) explainItems(why string, items resume.ItemsWhy) {
	x.Why = strings.Replace(x.Why, notStarted, why, 1)
	for i := range x.Each {
		if item := &x.Each[i]; item.Why == notStarted {
			item.Why = cmp.Or(items[item.Index], item.Why)
		}
	}
}
