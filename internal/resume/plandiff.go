package resume

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/outputs"
	"pawl/internal/project"
	"pawl/internal/runs"
	"pawl/internal/snapshot"
	"pawl/internal/stepenv"
)

// PlanDiff is the difference between a run and the current plan, inputs and outputs.
type PlanDiff struct {
	Edited      bool          `json:"edited"`               // the plan differs from the one that the run uses
	Rerun       []Rerun       `json:"again,omitempty"`      // finished work that would rerun, and why
	Recheck     []pawl.StepID `json:"recheck,omitempty"`    // finished steps whose acceptance checks changed
	Conditions  []pawl.StepID `json:"conditions,omitempty"` // steps that their condition skipped, which may be true now
	Tolerance   []pawl.StepID `json:"tolerance,omitempty"`  // failed steps whose continue_on_error changed
	Reset       []pawl.StepID `json:"anew,omitempty"`       // failed or barely started steps whose definition changed
	Added       []pawl.StepID `json:"added,omitempty"`
	Removed     []pawl.StepID `json:"removed,omitempty"`
	PlanHash    string        `json:"plan_hash,omitempty"` // SHA-256 of the edited plan file
	Patch       string        `json:"patch,omitempty"`     // from the plan that the run uses to the edited one
	Weakened    []string      `json:"weakened,omitempty"`  // gates, checks and limits that the edited plan removes or weakens
	OutputEdits []OutputEdit  `json:"outside,omitempty"`   // finished steps whose outputs were edited; nothing reruns because of it

	plan       *pawl.Plan
	Text       *pawl.Plan               `json:"-"`                  // the plan as written
	Data       []byte                   `json:"-"`                  // of the plan file
	From       string                   `json:"-"`                  // path of the plan file
	NewItems   map[pawl.StepID][]string `json:"-"`                  // values that foreach lists have gained
	ResetWhy   map[pawl.StepID]string   `json:"-"`                  // why steps of Reset start again
	ListLength map[pawl.StepID]int      `json:"-"`                  // how long the foreach lists were before
	Relisted   []pawl.StepID            `json:"relisted,omitempty"` // failed foreach steps whose list changed: failed items rerun too
	Dropped    []ListedItems            `json:"dropped,omitempty"`  // unfinished items that are not on the list any more
	Returned   []ListedItems            `json:"returned,omitempty"` // dropped items that are on the list again
	NewAxes    []pawl.StepID            `json:"new_axes,omitempty"` // foreach steps whose matrix has other axes: none of their items is on the new list
}

// ListedItems are items of a foreach step.
type ListedItems struct {
	Step   pawl.StepID `json:"step"`
	Values []string    `json:"values"`
	Index  []int       `json:"-"`
}

// Rerun is finished work that would rerun.
type Rerun struct {
	Step  pawl.StepID   `json:"step"`
	Items []pawl.ItemID `json:"items,omitempty"` // only these items; empty for the whole step
	Why   []string      `json:"why"`
	Index []int         `json:"-"` // of Items, in the foreach list
}

// Text says what reruns, and why.
func (r Rerun) Text() string {
	what := "step " + string(r.Step)
	if n := len(r.Items); n == 1 {
		what = "1 item of " + what
	} else if n > 1 {
		what = fmt.Sprintf("%d items of %s", n, what)
	}
	return fmt.Sprintf("%s (%s); downstream steps rerun if its outputs change", what, strings.Join(r.Why, "; "))
}

// OutputEdit lists outputs of a finished step that were edited since.
type OutputEdit struct {
	Step  pawl.StepID `json:"step"`
	Paths []string    `json:"paths"`

	Missing []string `json:"missing,omitempty"` // those of Paths that were deleted
}

// DiffPlan compares a run with the user's plan file and the current inputs and outputs. given are values that a resume adds to
// those that the run has.
func DiffPlan(p *project.Project, r *runs.Run, given pawl.GivenValues) (*PlanDiff, error) {
	user, err := runs.ReadUserPlan(p, r.State)
	if err = cmp.Or(err, user.Invalid); err != nil {
		return nil, err
	}
	c := &PlanDiff{Text: r.Text, From: user.Path, NewItems: map[pawl.StepID][]string{}, ListLength: map[pawl.StepID]int{}}
	if user.Edited {
		c.Edited, c.Text, c.Data = true, user.Plan, user.Data
		c.PlanHash, c.Weakened = runs.SHA256Hex(user.Data), Weakened(r.Plan, user.Plan)
		before, err := disk.ReadFile(filepath.Join(p.RunDir(r.State.Run), filepath.Base(r.State.Plan.File)), disk.PlanLimit)
		if err == nil { // a missing copy was restored from the user's file, or is reported
			c.Patch = snapshot.TextPatch(filepath.Base(user.Path), before, user.Data)
		}
	}
	c.resolve(r, given)
	return c, c.compare(p, r)
}

// resolve sets the plan that would run.
func (c *PlanDiff) resolve(r *runs.Run, given pawl.GivenValues) {
	if !c.Edited && given.Empty() {
		c.plan = r.Plan
		return
	}
	c.plan = stepenv.Resolve(c.Text, r.State.Given.With(given))
}

// PlanText returns the plan that a resume would use, as it is written.
func PlanText(p *project.Project, r *runs.Run) (*pawl.Plan, error) {
	user, err := runs.ReadUserPlan(p, r.State)
	if err = cmp.Or(err, user.Invalid); err != nil || !user.Edited {
		return r.Text, err
	}
	return user.Plan, nil
}

func (c *PlanDiff) compare(p *project.Project, r *runs.Run) error {
	look := &comparer{root: p.Root, run: r, plan: c.plan, order: c.plan.Order(), byPath: NewestRecords(r.State)}
	for _, step := range c.plan.Steps() {
		st := r.State.Steps[step.ID]
		if c.plan != r.Plan && r.Plan.Step(step.ID) == nil {
			c.Added = append(c.Added, step.ID)
		}
		if st == nil || st.Status == pawl.Skipped {
			if st != nil && c.reconsiders(r, step, st) {
				c.Conditions = append(c.Conditions, step.ID)
			}
			continue
		}
		if err := c.step(look, step, st); err != nil {
			return err
		}
	}
	if c.plan == r.Plan {
		return nil
	}
	for _, step := range r.Plan.Steps() {
		if c.plan.Step(step.ID) == nil {
			c.Removed = append(c.Removed, step.ID)
		}
	}
	return nil
}

// reconsiders reports whether the condition that skipped a step may be true now: it or what it is computed from changed. What the
// step needs is compared when it ends again.
func (c *PlanDiff) reconsiders(r *runs.Run, step *pawl.Step, st *pawl.StepState) bool {
	return st.Condition != "" &&
		(st.Condition != step.If.Text() || !maps.Equal(r.Plan.Values, c.plan.Values) || r.Plan.Mode != c.plan.Mode || r.Plan.Name != c.plan.Name)
}

func (c *PlanDiff) step(look *comparer, step *pawl.Step, st *pawl.StepState) error {
	switch {
	case st.Status == pawl.FailedForGood:
		old := look.run.Plan.Step(step.ID)
		if old != nil && old.ContinueOnError != step.ContinueOnError {
			c.Tolerance = append(c.Tolerance, step.ID)
		}
		if old == nil || old.If.Text() != step.If.Text() || look.otherKind(step, st) || pawl.DefinitionOf(look.run.Plan, old, "") != pawl.DefinitionOf(c.plan, step, "") || pawl.AcceptOf(old) != pawl.AcceptOf(step) {
			c.reset(step.ID, look.resetReason(old, step))
		} else if st.Items != nil && step.Foreach != nil {
			return c.relisted(look, step, st)
		}
		return nil
	case look.otherKind(step, st):
		c.startOver(step, st, pawl.DefinitionChanged)
		return nil
	case st.Items != nil:
		return c.foreach(look, step, st)
	case st.Status != pawl.Done && st.Status != pawl.AwaitsReview:
		return nil
	case step.Service != nil && st.Key.Definition == "": // no step has needed it
		return nil
	}
	why := look.rerunReasons(runs.Work{Step: step, Index: -1}, st.Key, st)
	if len(why) > 0 {
		c.Rerun = append(c.Rerun, Rerun{Step: step.ID, Why: why})
		return nil
	}
	return c.finished(look, step, st)
}

// startOver records that a step starts again as a whole. If work may be lost or repeated by that, a person has to confirm it.
func (c *PlanDiff) startOver(step *pawl.Step, st *pawl.StepState, why ...string) {
	risky := !step.MayRepeat() && st.Attempts > 0
	if risky {
		why = append(why, "it was started and is not safe to rerun")
	}
	if n := skippedByPersons(st.Items); n > 0 {
		why = append(why, fmt.Sprintf("%d skipped of its items will run too", n))
	}
	if risky || st.Status == pawl.Done || st.Status == pawl.AwaitsReview || st.Items != nil && st.Items.Count > 0 {
		c.Rerun = append(c.Rerun, Rerun{Step: step.ID, Why: why})
		return
	}
	c.reset(step.ID, strings.Join(why, "; "))
}

// skippedByPersons counts the items that are left out although they are on the list.
func skippedByPersons(items *pawl.ItemsState) (n int) {
	if items == nil {
		return 0
	}
	for _, skip := range items.Skipped {
		if !skip.Dropped {
			n++
		}
	}
	return n
}

// reset records that a step starts again from its first attempt.
func (c *PlanDiff) reset(id pawl.StepID, why string) {
	c.Reset = append(c.Reset, id)
	if c.ResetWhy == nil {
		c.ResetWhy = map[pawl.StepID]string{}
	}
	c.ResetWhy[id] = why
}

// finished records changed checks and edited outputs of a finished step that does not rerun.
func (c *PlanDiff) finished(look *comparer, step *pawl.Step, st *pawl.StepState) error {
	if accept := pawl.AcceptOf(step); accept != "" && accept != st.Accept && step.Gate == nil {
		c.Recheck = append(c.Recheck, step.ID)
	}
	paths, err := look.editedOutputs(st)
	if len(paths) > 0 {
		missing := slices.DeleteFunc(slices.Clone(paths), func(path string) bool { return outputs.Exists(look.root, path) })
		c.OutputEdits = append(c.OutputEdits, OutputEdit{Step: step.ID, Paths: paths, Missing: slices.Clip(missing)})
	}
	return err
}

// HasReruns reports whether finished work would rerun, which needs a person's confirmation.
func (c *PlanDiff) HasReruns() bool { return len(c.Rerun) > 0 }

// Plan returns the plan that would run.
func (c *PlanDiff) Plan() *pawl.Plan { return c.plan }

// Reopens reports whether an ended run would continue.
func (c *PlanDiff) Reopens() bool {
	return len(c.Conditions)+len(c.Tolerance)+len(c.Rerun)+len(c.Recheck)+len(c.Reset)+len(c.Added)+len(c.NewItems)+len(c.Dropped)+len(c.Returned) > 0
}

// SameDefinition reports whether a live attempt has the step's current definition. listed returns the values of a
// step's item list.
func SameDefinition(plan *pawl.Plan, live *pawl.AttemptState, listed func(pawl.StepID) ([]string, error)) bool {
	step := plan.Step(live.Step)
	if step == nil {
		return false
	}
	value := ""
	if live.Item != "" {
		values, err := listed(live.Step)
		if err != nil || live.Index >= len(values) {
			return false
		}
		value = values[live.Index]
	}
	return live.Key.Definition == pawl.DefinitionOf(plan, step, value)
}

// GateEdited reports whether the user's plan file now asks another question than an open gate.
func GateEdited(p *project.Project, r *runs.Run, g *pawl.GateState) bool {
	user, err := runs.ReadUserPlan(p, r.State)
	if err != nil || user.Plan == nil || g.Purpose != "" {
		return false // a resume reports errors
	}
	was, is := r.Plan.Step(g.Step), user.Plan.Step(g.Step)
	return was != nil && (is == nil || pawl.DefinitionOf(r.Plan, was, "") != pawl.DefinitionOf(user.Plan, is, ""))
}
