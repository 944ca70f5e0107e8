package engine

import "pawl"

// outline is a plan with what is asked of it all the time.
type outline struct {
	*pawl.Plan
	steps []*pawl.Step
	byID  map[pawl.StepID]*pawl.Step
	needs map[pawl.StepID][]pawl.StepID
}

func outlineOf(plan *pawl.Plan) *outline {
	o := &outline{Plan: plan, steps: plan.Steps(), needs: plan.Order()}
	o.byID = make(map[pawl.StepID]*pawl.Step, len(o.steps))
	for _, s := range o.steps {
		o.byID[s.ID] = s
	}
	return o
}
