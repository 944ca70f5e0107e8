package expression

import (
	"errors"

	"pawl"
	"pawl/internal/planfile"
)

// Language checks the expressions of plans for package planfile.
type Language struct{}

// CheckCondition checks the condition of a step.
func (Language) CheckCondition(text string, plan *pawl.Plan, step *pawl.Step, ended map[pawl.StepID]bool) (int, error) {
	_, err := compileCondition(plan, text, &Steps{Own: step.ID, Ended: ended, All: idsOf(plan)})
	return located(err)
}

// CheckValue checks an expression in a value.
func (Language) CheckValue(text string, plan *pawl.Plan, list bool) (int, error) {
	_, err := Compile(text, kindOf(list), Scope{Params: plan.Params})
	return located(err)
}

// located takes an error of Compile apart.
func located(err error) (offset int, text error) {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Offset, errors.New(e.Text)
	}
	return 0, err
}

func kindOf(list bool) Kind {
	if list {
		return Items
	}
	return Text
}

func idsOf(plan *pawl.Plan) map[pawl.StepID]bool {
	ids := map[pawl.StepID]bool{}
	for _, step := range plan.Steps() {
		ids[step.ID] = true
	}
	return ids
}

// ConditionOf compiles the condition of a step. order is that of the plan.
func ConditionOf(plan *pawl.Plan, step *pawl.Step, order map[pawl.StepID][]pawl.StepID) (*Program, error) {
	return compileCondition(plan, string(step.If), &Steps{Own: step.ID, Ended: planfile.Reach(order, step.ID), All: idsOf(plan)})
}

func compileCondition(plan *pawl.Plan, condition string, steps *Steps) (*Program, error) {
	text, at := Unwrap(condition)
	p, err := Compile(text, Condition, Scope{Params: plan.Params, Steps: steps})
	if e, ok := errors.AsType[*Error](err); ok {
		return nil, &Error{Offset: e.Offset + at, Text: e.Text}
	}
	return p, err
}

// Evaluate computes an expression in a value of a plan. list: the value may be a list, and is returned as one. It is a
// stepenv.Evaluate.
func Evaluate(plan *pawl.Plan, params map[string]string, text string, list bool) ([]string, error) {
	p, err := Compile(text, kindOf(list), Scope{Params: plan.Params})
	if err != nil {
		return nil, err
	}
	v := Values{Params: params, Run: Run{Name: plan.Name, Mode: string(plan.Mode)}}
	if list {
		return p.List(v)
	}
	value, err := p.Value(v)
	return []string{value}, err
}
