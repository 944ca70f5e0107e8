package expression_test

import (
	"errors"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/expression"
)

var params = map[string]pawl.Parameter{
	"env": {Type: pawl.EnumParam, Options: []string{"dev", "prod"}}, "n": {Type: pawl.IntParam}, "rate": {Type: pawl.NumberParam},
	"dry": {Type: pawl.BoolParam}, "regions": {Type: pawl.ListParam}, "name": {Type: pawl.StringParam}, "token": {Type: pawl.StringParam, Secret: true},
}

func scope() expression.Scope {
	ids := map[pawl.StepID]bool{"build": true, "build-site": true, "01.load": true}
	all := map[pawl.StepID]bool{"build": true, "build-site": true, "01.load": true, "later": true, "own": true}
	return expression.Scope{Params: params, Steps: &expression.Steps{Own: "own", Ended: ids, All: all}}
}

func values(success bool) expression.Values {
	steps := map[pawl.StepID]expression.Step{
		"build": {Status: "done", Summary: "12 pages"}, "build-site": {Status: "failed", Exit: 3, Why: "exit code 3"}, "01.load": {Status: "skipped", Exit: -1},
	}
	return expression.Values{
		Params: map[string]string{"env": "prod", "n": "7", "rate": "0.5", "dry": "true", "regions": "eu,us", "name": "a-b"},
		Run:    expression.Run{Name: "site", Mode: "guided"}, Success: success,
		Step: func(id pawl.StepID) expression.Step { return steps[id] },
	}
}

func TestConditions(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"params.env == 'prod'":                              true,
		"params.env != 'prod' || params.n > 6":              true,
		"params.n == 7 && params.rate < 0.6 and params.dry": true,
		"!params.dry":                                                                false,
		"not params.dry":                                                             false,
		"'eu' in params.regions":                                                     true,
		"'eu' not in params.regions":                                                 false,
		"contains(params.regions, 'us')":                                             true,
		"contains(params.regions, 'u')":                                              false,
		"contains('hello', 'ell')":                                                   true,
		"'hello' contains 'ell'":                                                     true,
		"'hello' contains ('el' + 'l')":                                              true,
		"'hello' not contains ('el' + 'x')":                                          true,
		"not contains('hello', 'x') and contains ('hello', 'h')":                     true,
		"contains(['a', 'b'], params.name)":                                          false,
		"startsWith(params.name, 'a-') && endsWith(params.name, 'b')":                true,
		"params.name startsWith 'a'":                                                 true,
		"params.name matches '^a-[a-z]$'":                                            true,
		"len(params.regions) == 2 && params.regions[1] == 'us'":                      true,
		"steps.build.status == 'done'":                                               true,
		"steps.build-site.status == 'failed'":                                        true,
		"steps['build-site'].exit == 3 && steps[\"build-site\"].why contains 'code'": true,
		"steps['01.load'].status == 'skipped'":                                       true,
		"steps.build.summary contains 'pages'":                                       true,
		"params.n-1 == 6 && params.n -1 == 6":                                        true,
		"success()":                                                                  true,
		"failure()":                                                                  false,
		"always()":                                                                   true,
		"success() && run.mode == 'guided' && run.name == 'site'":                    true,
		"params.dry ? params.n == 7 : false":                                         true,
		"true":                                                                       true,
		"int('12') == 12 && lower('A') == 'a'":                                       true,
		"params.regions == ['eu', 'us']":                                             true,
	} {
		p, err := expression.Compile(text, expression.Condition, scope())
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, err := p.Holds(values(true)); err != nil || got != want {
			t.Errorf("%s is %v, %v; want %v", text, got, err, want)
		}
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ text, want string }{
		{"", "column 1: the expression is empty"},
		{"params.env == prod", `column 15: unknown name "prod"; a string needs quotes: 'prod'`},
		{"params.evn == 'prod'", `column 8: unknown parameter "evn"; did you mean "env"?`},
		{"params.token == 'x'", `column 8: parameter "token" is a secret, and pawl does not store it, so expressions cannot use it; use $PAWL_PARAM_TOKEN in the step's script`},
		{"params.env == 'prdo'", `column 15: params.env is never "prdo"; did you mean "prod"?`},
		{"steps.build.status == 'success'", `column 23: steps.build.status is never "success"; use "done"`},
		{"steps.build-site.outcome == 'x'", `column 18: a step has no field "outcome"; use status`},
		{"steps.build.stat == 'x'", `column 13: a step has no field "stat"; expected status, exit, summary, why or answer`},
		{"steps.biuld.status == 'done'", `column 7: unknown step "biuld"; did you mean "build"?`},
		{"steps.build-siet.status == 'done'", `column 7: unknown step "build-siet"; did you mean "build-site"?`},
		{"steps.later.status == 'done'", `column 7: step "later" may not have ended by then; add it to "needs"`},
		{"steps.own.status == 'done'", `column 7: step "own" has not run when its own condition is evaluated; use another step`},
		{"steps[params.name].status == 'x'", `column 14: steps[…] needs a name in quotes`},
		{"params", `column 1: params is not a value; use params.NAME`},
		{"params.n", `column 1: the result is a number, not true or false; compare it, as in X == 'prod'`},
		{"params.env", `column 1: the result is a string, not true or false; compare it, as in X == 'prod'`},
		{"params.n == 'x'", `column 10: invalid operation: == (mismatched types int and string)`},
		{"params.n = 7", `column 10: unexpected "="; compare with ==`},
		{"cancelled()", `column 1: cancelled() does not exist: an interrupted run is resumed; use always()`},
		{"succes()", `column 1: unknown function "succes"; did you mean "success"?`},
		{"failure", `column 1: failure is a function; write failure()`},
		{"needs.build.result == 'success'", `column 1: unknown name "needs"; use steps.ID.status`},
		{"any(params.regions, # == 'eu')", `column 1: unknown function "any"; expected len, lower, upper, trim, join, split, int, float, string, abs, min, max, toJSON, contains, endsWith, startsWith, success, failure or always`},
		{"filter([1], true) == []", `column 1: unknown function "filter"; expected len, lower, upper, trim, join, split, int, float, string, abs, min, max, toJSON, contains, endsWith, startsWith, success, failure or always`},
		{"let a = 'x'; a == a", `column 5: this form is not available in plans; use comparisons, && and ||, and functions`},
		{"1..1000000000 == []", `column 2: ranges are not available in plans`},
		{"(params.n == 7", `column 14: the expression is incomplete; add what is missing at its end`},
		{"'a' + ", `column 6: the expression is incomplete; add what is missing at its end`},
		{strings.Repeat("x", 3000), `column 1: the expression has 3000 bytes; the maximum is 2000; let a step decide instead`},
		{strings.Repeat("(", 1900), `column 1900: the expression is incomplete; add what is missing at its end`},
	} {
		_, err := expression.Compile(x.text, expression.Condition, scope())
		if err == nil || err.Error() != x.want {
			t.Errorf("%.60s: %v; want %s", x.text, err, x.want)
		}
	}
}

func TestValues(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"params.env":                "prod",
		"params.n + 1":              "8",
		"params.rate":               "0.5",
		"params.dry":                "true",
		"join(params.regions, ' ')": "eu us",
		"params.env == 'prod' ? 'https' : 'http'":    "https",
		"upper(params.env) + '-' + string(params.n)": "PROD-7",
		"toJSON(params.env)":                         `"prod"`,
		"toJSON(params.n - 6)":                       "1",
		"toJSON([params.rate * 2, [2.0]])":           "[\n  1.0,\n  [\n    2.0\n  ]\n]",
		"toJSON(1 / 0)":                              "{\n  \"$float\": \"inf\"\n}",
	} {
		p, err := expression.Compile(text, expression.Text, expression.Scope{Params: params})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, err := p.Value(values(true)); err != nil || got != want {
			t.Errorf("%s is %q, %v; want %q", text, got, err, want)
		}
	}
	for text, want := range map[string]string{"params.regions": "eu|us", "params.env": "prod", "['a', params.env]": "a|prod", "split('a b', ' ')": "a|b"} {
		p, err := expression.Compile(text, expression.Items, expression.Scope{Params: params})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, err := p.List(values(true)); err != nil || strings.Join(got, "|") != want {
			t.Errorf("%s is %q, %v; want %q", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"params.regions":     "column 1: the value is a list, not a string; use one of its elements, or join(LIST, ',')",
		"steps.build.status": `column 7: steps are not available here, because the value is computed before the first step starts; use them in "if"`,
		"success()":          `column 1: success() is available in "if" only`,
	} {
		if _, err := expression.Compile(text, expression.Text, expression.Scope{Params: params}); err == nil || err.Error() != want {
			t.Errorf("%s: %v; want %s", text, err, want)
		}
	}
}

func TestFailsAtRunTime(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"params.regions[9] == 'x'": "index out of range: 9 (array length is 2)",
		"int(params.name) == 1":    "invalid operation: int(a-b)",
		"(params.dry ? 1 : 'x')":   "the result is of type int, not true or false",
		"params.name matches '('":  "",
	} {
		p, err := expression.Compile(text, expression.Condition, scope())
		if err != nil {
			if want != "" {
				t.Errorf("%s: %v", text, err)
			}
			continue
		}
		if got, err := p.Holds(values(true)); err == nil || err.Error() != want {
			t.Errorf("%s is %v, %v; want %s", text, got, err, want)
		}
	}
}

// TestUnset has parameters without values: they are the zero values of their types.
func TestUnset(t *testing.T) {
	t.Parallel()
	p, err := expression.Compile("params.name == '' && params.n == 0 && params.rate == 0 && !params.dry && len(params.regions) == 0", expression.Condition, scope())
	if err != nil {
		t.Fatal(err)
	}
	v := values(true)
	v.Params = nil
	if holds, err := p.Holds(v); !holds || err != nil {
		t.Error(holds, err)
	}
}

// FuzzExpression compiles and evaluates any text. Neither may panic, and an error lies inside the text.
func FuzzExpression(f *testing.F) {
	for _, text := range []string{
		"params.env == 'prod'", "steps.build-site.status != \"done\" and not contains(params.regions, 'eu')", "a ?? b?.c[1:2]", "{a: 1}.a",
		"${{ failure() }}", "'\\x' matches '('", "// x", "1 + -2 ** 3 % 4", "ꟷｃontains(", "params.regions[-1] == `x`",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		inner, at := expression.Unwrap(text)
		if at < 0 || at > len(text) {
			t.Fatalf("offset %d", at)
		}
		for _, kind := range []expression.Kind{expression.Condition, expression.Text, expression.Items} {
			p, err := expression.Compile(inner, kind, scope())
			if err != nil {
				if e, ok := errors.AsType[*expression.Error](err); !ok || e.Offset < 0 || e.Offset > len(inner) {
					t.Fatalf("%v", err)
				}
				continue
			}
			again := func() (any, error) {
				switch kind {
				case expression.Condition:
					return p.Holds(values(true))
				case expression.Text:
					return p.Value(values(true))
				}
				list, err := p.List(values(true))
				return strings.Join(list, "\x00"), err
			}
			first, err1 := again()
			second, err2 := again()
			if first != second || (err1 == nil) != (err2 == nil) {
				t.Fatalf("%v, %v; then %v, %v", first, err1, second, err2)
			}
		}
	})
}

func BenchmarkHolds(b *testing.B) {
	p, err := expression.Compile("params.env == 'prod' && steps.build.status == 'done' && success()", expression.Condition, scope())
	if err != nil {
		b.Fatal(err)
	}
	v := values(true)
	for b.Loop() {
		if _, err := p.Holds(v); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	for b.Loop() {
		if _, err := expression.Compile("params.env == 'prod' && steps.build.status == 'done' && success()", expression.Condition, scope()); err != nil {
			b.Fatal(err)
		}
	}
}
