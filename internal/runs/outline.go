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

	At     map[pawl.StepID]int // position of each step in InOrder
	Lists  [][]int             // the different lists of needs, as positions: steps that wait for a whole phase share one
	ListOf []int               // for each step in InOrder, its list

	Conditions map[pawl.StepID]any // compiled conditions of steps; package decide fills it

	of     *pawl.State // whose step states are in states
	count  int         // how many it had
	states []*pawl.StepState
}

// States returns the states of the steps in InOrder, nil for a step without one. The state of a step stays the same one, so only new ones
// are looked up.
func (o *Outline) States(s *pawl.State) []*pawl.StepState {
	if o.of == s && o.count == len(s.Steps) {
		return o.states
	}
	states := make([]*pawl.StepState, len(o.InOrder))
	if o.of == s {
		copy(states, o.states)
	}
	for i, st := range states {
		if st == nil {
			states[i] = s.Steps[o.InOrder[i].ID]
		}
	}
	o.of, o.count, o.states = s, len(s.Steps), states
	return states
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
	o.listNeeds()
	return o
}

// listNeeds sets At, Lists and ListOf.
func (o *Outline) listNeeds() {
	o.At = make(map[pawl.StepID]int, len(o.InOrder))
	for i, step := range o.InOrder {
		o.At[step.ID] = i
	}
	type slice struct {
		first *pawl.StepID
		len   int
	}
	known := map[slice]int{}
	o.ListOf = make([]int, len(o.InOrder))
	for i, step := range o.InOrder {
		needs := o.Needs[step.ID]
		key := slice{len: len(needs)}
		if len(needs) > 0 {
			key.first = &needs[0]
		}
		list, found := known[key]
		if !found {
			list = len(o.Lists)
			known[key] = list
			positions := make([]int, len(needs))
			for j, need := range needs {
				positions[j] = o.At[need]
			}
			o.Lists = append(o.Lists, positions)
		}
		o.ListOf[i] = list
	}
}
