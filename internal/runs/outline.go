package runs

import "pawl"

// An Outline is a plan with its indexes.
type Outline struct {
	*pawl.Plan
	InOrder []*pawl.Step                  // the plan's steps in file order
	ByID    map[pawl.StepID]*pawl.Step    // with the handlers
	Needs   map[pawl.StepID][]pawl.StepID // explicit and implied needs; see pawl.Plan.Order

	Conditions map[pawl.StepID]any // compiled conditions of steps; package decide fills it
}

// NewOutline computes the indexes of a plan.
func NewOutline(plan *pawl.Plan) *Outline {
	o := &Outline{Plan: plan, InOrder: plan.Steps(), Needs: plan.Order(), Conditions: map[pawl.StepID]any{}}
	o.ByID = make(map[pawl.StepID]*pawl.Step, len(o.InOrder))
	for _, s := range append(plan.Handlers(), o.InOrder...) {
		o.ByID[s.ID] = s
	}
	return o
}
