package stepenv

import (
	"encoding/json"
	"fmt"
	"strings"

	"pawl"
)

// An Evaluate computes an expression from the plan's parameters. list: the value may be a list, and is returned as one.
type Evaluate func(plan *pawl.Plan, params map[string]string, text string, list bool) ([]string, error)

// listPrefix begins the names of recorded values that are lists, to tell them from the texts of the same expressions.
const listPrefix = "list "

// computes reports whether the list of a foreach step or a parameter of a kernel contains expressions.
func computes(plan *pawl.Plan) bool {
	for _, step := range plan.Steps() {
		for range KernelTexts(step.Kernel) {
			return true
		}
		if step.Foreach == nil {
			continue
		}
		for _, item := range step.Foreach.Items {
			if strings.Contains(item, "${{") {
				return true
			}
		}
	}
	return false
}

// resolveItems replaces the expressions in a list. A list in the place of an element becomes its elements. An element without a
// known value stays.
func resolveItems(items pawl.Texts, values map[string]pawl.Given) pawl.Texts {
	var all pawl.Texts
	for _, item := range items {
		t, err := ParseItem(item)
		switch list, isList := t.list(values); {
		case err != nil: // planfile rejects it
			all = append(all, item)
		case isList:
			all = append(all, list...)
		default:
			text, whole := t.reduce(nil, values)
			if !whole {
				text = item
			}
			all = append(all, text)
		}
	}
	return all
}

// list returns the elements of a template that is one expression with a recorded list.
func (t Template) list(values map[string]pawl.Given) (elements []string, ok bool) {
	if !t.Single() {
		return nil, false
	}
	given, has := values[listPrefix+t[0].expression]
	if !has || json.Unmarshal([]byte(given.Value), &elements) != nil {
		return nil, false
	}
	return elements, true
}

// Single reports whether the template is one expression.
func (t Template) Single() bool { return len(t) == 1 && t[0].expression != "" }

// values evaluates the expressions in the plan's values, with the parameters that the run will have.
func (c *collector) values(plan *pawl.Plan) {
	params := paramValues(plan, c.recorded.With(c.New))
	evaluate := func(where, text string, list bool) {
		if c.Evaluate == nil {
			return
		}
		result, err := c.Evaluate(plan, params, text, list)
		if err != nil {
			c.fail("%s: ${{ %s }}: %v", where, text, err)
			return
		}
		name, value := text, strings.Join(result, "")
		if list {
			data, _ := json.Marshal(result) // texts
			name, value = listPrefix+text, string(data)
		}
		switch was, has := c.recorded.Values[name]; {
		case len(value) > MaxValue:
			c.fail("%s: the value of ${{ %s }} has %d bytes; the maximum is %d", where, text, len(value), MaxValue)
		case !has || was.Value != value:
			c.New.Values[name] = pawl.Given{Value: value}
		}
	}
	for env := range envsOf(plan) {
		for name, v := range env {
			t, _ := Parse(v.Value) // planfile rejects errors
			for _, x := range t.Expressions() {
				evaluate("env "+name, x.Text, false)
			}
		}
	}
	for _, step := range plan.Steps() {
		for name, text := range KernelTexts(step.Kernel) {
			t, _ := ParseItem(text)
			for _, x := range t.Expressions() {
				if t.Single() {
					x.Text = Typed(x.Text)
				}
				evaluate(fmt.Sprintf("parameter %s of step %s", name, step.ID), x.Text, false)
			}
		}
		if step.Foreach == nil {
			continue
		}
		for _, item := range step.Foreach.Items {
			t, _ := ParseItem(item)
			for _, x := range t.Expressions() {
				evaluate(fmt.Sprintf("items of step %s", step.ID), x.Text, t.Single())
			}
		}
	}
}
