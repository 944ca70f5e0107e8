package runs

import (
	"slices"

	"pawl"
)

// An Outline is a plan with its indexes.
type Outline struct {
	*pawl.Plan
	InOrder []*pawl.Step                  // the plan's steps in file order
	ByID    map[pawl.StepID]*pawl.Step    // with the handlers
	Needs   map[pawl.StepID][]pawl.StepID // explicit and implied needs; see pawl.Plan.Order
	Users   map[pawl.StepID][]pawl.StepID // of each service; see pawl.Plan.Users

	Conditions map[pawl.StepID]any // compiled conditions of steps; package decide fills it
}

// Services returns the services of the plan in file order.
func (o *Outline) Services() []*pawl.Step {
	if len(o.Users) == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(o.InOrder), func(s *pawl.Step) bool { return s.Service == nil })
}

// NewOutline computes the indexes of a plan.
func NewOutline(plan *pawl.Plan) *Outline {
	o := &Outline{Plan: plan, InOrder: plan.Steps(), Needs: plan.Order(), Users: plan.Users(), Conditions: map[pawl.StepID]any{}}
	o.ByID = make(map[pawl.StepID]*pawl.Step, len(o.InOrder))
	for _, s := range append(plan.Handlers(), o.InOrder...) {
		o.ByID[s.ID] = s
	}
	return o
}
