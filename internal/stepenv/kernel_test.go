package stepenv_test

import (
	"encoding/json"
	"testing"

	"pawl"
	"pawl/internal/expression"
	"pawl/internal/planfile"
	"pawl/internal/stepenv"
)

// A parameter of a kernel that is nothing but an expression has the type of its value. Other texts with expressions are texts. What a
// person types stands for itself.
func TestKernelParams(t *testing.T) {
	t.Parallel()
	plan, err := planfile.Read("plan.yaml", []byte(`name: x
params: {month: {type: int, default: 5}, ratio: {type: number, default: 0.5}, dry: {type: bool, default: true}, who: {default: "'); import os #"}, regions: {type: list, default: [eu, us]}}
steps:
  - id: a
    kernel:
      file: n.ipynb
      params:
        month: "${{ params.month }}"
        ratio: "${{ params.ratio * 2 + 0.25 }}"
        dry: "${{ params.dry }}"
        who: "${{ params.who }}"
        none: "${{ nil }}"
        regions: "${{ params.regions }}"
        numbers: [1, "${{ params.month + 1 }}", 2.50]
        nested: {month: "${{ params.month }}", big: 12345678901234567890, yes: true}
        text: "month ${{ params.month }} of $YEAR"
        plain: "5"
        missing:
`))
	if err != nil {
		t.Fatal(err)
	}
	s := source()
	s.Evaluate = expression.Evaluate
	given := collect(t, s, plan, pawl.GivenValues{}).New
	got, err := json.Marshal(stepenv.Resolve(plan, given).Step("a").Kernel.Params)
	const want = `{"dry":true,"missing":null,"month":5,"nested":{"big":12345678901234567890,"month":5,"yes":true},"none":null,"numbers":[1,6,2.5],"plain":"5",` +
		`"ratio":1.25,"regions":["eu","us"],"text":"month 5 of $YEAR","who":"'); import os #"}`
	if string(got) != want || err != nil {
		t.Errorf("%v\ngot  %s\nwant %s", err, got, want)
	}
	if later := collect(t, s, plan, given); !later.New.Empty() {
		t.Errorf("a value is recorded again: %+v", later.New)
	}
	typed := []any{"${{ params.month }}", "a ${{ b", "${{"}
	plan.Step("a").Kernel.Params = stepenv.Literals(map[string]any{"x": append([]any{}, typed...)})
	given = collect(t, s, plan, pawl.GivenValues{}).New
	got, _ = json.Marshal(stepenv.Resolve(plan, given).Step("a").Kernel.Params["x"])
	if want, _ := json.Marshal(typed); string(got) != string(want) {
		t.Errorf("literals: %s", got)
	}
}
