package convert_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pawl"
	"pawl/internal/interop/convert"
	"pawl/internal/planfile"
)

// converted is the plan of a file, and its report.
func converted(t *testing.T, text, job string) (*pawl.Plan, string) {
	t.Helper()
	r, err := convert.Convert("f.yml", []byte(text), "", job)
	if err != nil {
		t.Fatalf("%s\n%v", text, err)
	}
	plan, err := planfile.Read("plan.yaml", r.Plan)
	if err != nil {
		t.Fatal(err)
	}
	var report strings.Builder
	for _, n := range r.Notes {
		report.WriteString(n.In("f.yml") + "\n")
	}
	return plan, report.String()
}

// TestErrors: a file that is none of the systems' is an error of the user's that says what to do.
func TestErrors(t *testing.T) {
	t.Parallel()
	bomb := "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 6 {
		bomb += fmt.Sprintf("%c: &%[1]c [*%c, *%[2]c, *%[2]c, *%[2]c, *%[2]c, *%[2]c, *%[2]c, *%[2]c, *%[2]c]\n", 'b'+i, 'a'+i)
	}
	for _, c := range []struct{ text, system, job, want string }{
		{"", "", "", "f.yml: expected a mapping at the top level"},
		{"- a\n", "", "", "expected a mapping"},
		{"a: 1\n", "", "", "no jobs, steps or tasks; name the system with --from github, dagu or taskfile"},
		{"jobs: {}\n", "jenkins", "", `unknown system "jenkins"; expected github, dagu or taskfile`},
		{"name: p\nsteps: [{id: a, run: b}]\n", "", "", "f.yml is a plan of pawl already"},
		{"jobs: {a: {needs: b}}\n", "", "", `f.yml:1:8: job "a" needs unknown job "b"`},
		{"jobs: {a: {needs: b}, b: {needs: a}}\n", "", "", `f.yml:1:8: job "a" needs itself`},
		{"jobs: {build: {steps: []}}\n", "", "biuld", `unknown job "biuld"; did you mean "build"?`},
		{"jobs: {a: {steps: [{uses: actions/checkout@v4}]}}\n", "", "", "f.yml: this workflow has no steps that pawl could run"},
		{"steps: [a]\n", "", "x", "--job is for workflows and Taskfiles"},
		{"steps: [{name: a, command: x, depends: b}, {name: b, command: y, depends: a}]\n", "", "", "dependency cycle"},
		{"version: 2\ntasks: {default: {cmds: [a]}}\n", "", "", "f.yml:1:10: version 2 of Taskfiles is not supported; expected 3"},
		{"version: 3\ntasks: {build: a}\n", "", "", `unknown task "default"; expected build`},
		{bomb, "", "", "expand to more than 100000 values"},
		{strings.Repeat("a: {", 200) + strings.Repeat("}", 200), "", "", "nested more than 100 levels deep"},
		{"jobs: [\n", "", "", "f.yml:2:1: invalid YAML"},
		{strings.Repeat("x", 17<<20), "", "", "16 MiB"},
	} {
		_, err := convert.Convert("f.yml", []byte(c.text), convert.System(c.system), c.job)
		if e, ok := errors.AsType[*pawl.Error](err); !ok || e.Kind != pawl.KindUsage || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.80q: %v, want %s", c.text, err, c.want)
		}
	}
}

// TestHostile: files that are made to take long, or to become large, do not.
func TestHostile(t *testing.T) {
	t.Parallel()
	calls := "version: 3\ntasks:\n  default: {deps: [t0]}\n"
	for i := range 60 { // 2 to the power of 60 calls
		calls += fmt.Sprintf("  t%d: {cmds: [{task: t%d, vars: {A: '{{.A}}x'}}, {task: t%[2]d, vars: {A: '{{.A}}y'}}]}\n", i, i+1)
	}
	calls += "  t60: echo\n"
	loops := "version: 3\nvars: {L: [" + strings.Repeat("a,", 5000) + "b]}\ntasks: {default: {cmds: [{for: {var: L}, cmd: 'echo {{.ITEM}}'}]}}\n"
	for name, text := range map[string]string{
		"calls":       calls,
		"loops":       loops,
		"expressions": "jobs: {a: {steps: [{run: '" + strings.Repeat("${{", 100_000) + "'}]}}\n",
		"nested":      "jobs: {a: {steps: [{run: b, if: '" + strings.Repeat("(", 100_000) + "'}]}}\n",
		"not":         "jobs: {a: {steps: [{run: b, if: '" + strings.Repeat("!", 100_000) + "x'}]}}\n",
		"references":  "steps: [{name: a, command: '" + strings.Repeat("${a.", 100_000) + "'}]\n",
		"templates":   "version: 3\ntasks: {default: '" + strings.Repeat("{{", 100_000) + "'}\n",
		"heredocs":    "jobs: {a: {steps: [{run: '" + strings.Repeat("<<A ", 100_000) + "${{ x }}'}]}}\n",
	} {
		begin := time.Now()
		r, err := convert.Convert("f.yml", []byte(text), "", "")
		if took := time.Since(begin); took > time.Minute {
			t.Errorf("%s took %s", name, took)
		}
		if err != nil {
			if e, ok := errors.AsType[*pawl.Error](err); !ok || e.Kind != pawl.KindUsage {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if r.Steps > 2000 {
			t.Errorf("%s: %d steps", name, r.Steps)
		}
	}
}

// TestScripts: variables stand for expressions, as the quotes around them need it.
func TestScripts(t *testing.T) {
	t.Parallel()
	for from, want := range map[string]string{
		`echo ${{ inputs.day }}`:                          `echo ${PAWL_PARAM_DAY}`,
		`echo "${{ inputs.day }}"`:                        `echo "${PAWL_PARAM_DAY}"`,
		`echo 'on ${{ inputs.day }}.'`:                    `echo 'on '"${PAWL_PARAM_DAY}"'.'`,
		`echo "$(f '${{ inputs.day }}')"`:                 `echo "$(f ''"${PAWL_PARAM_DAY}"'')"`,
		`echo "it's ${{ inputs.day }}"`:                   `echo "it's ${PAWL_PARAM_DAY}"`,
		`echo it\'s ${{ github.event.inputs.day }}`:       `echo it\'s ${PAWL_PARAM_DAY}`,
		"# don't\necho ${{ inputs.day }}":                 "# don't\necho ${PAWL_PARAM_DAY}",
		"cat <<END\ndon't ${{ inputs.day }}\nEND\n":       "cat <<END\ndon't ${PAWL_PARAM_DAY}\nEND\n",
		"cat <<'END'\n'\nEND\necho ${{ inputs.day }}\n":   "cat <<'END'\n'\nEND\necho ${PAWL_PARAM_DAY}\n",
		"cat <<-END > x\n\t'\n\tEND\n: ${{ inputs.day }}": "cat <<-END > x\n\t'\n\tEND\n: ${PAWL_PARAM_DAY}\n",
		`echo ${{ 'a}}b' }} ${{ github.sha }}`:            `echo a}}b $(git rev-parse HEAD)`,
		`echo ${{ env.FIXED }}/${{ env.OTHER }}`:          `echo 1.2/${OTHER}`,
		`cat <<<${{ inputs.day }} ${{ runner.os }}`:       `cat <<<${PAWL_PARAM_DAY} Linux`,
	} {
		text := "on: {workflow_dispatch: {inputs: {day: {}}}}\nenv: {FIXED: 1.2}\njobs:\n  a:\n    runs-on: ubuntu-24.04\n    steps:\n      - run: |\n          " + strings.ReplaceAll(from, "\n", "\n          ")
		plan, report := converted(t, text+"\n", "")
		want = strings.TrimRight(want, "\n")
		if got := strings.TrimRight(plan.Steps()[0].Run, "\n"); got != want || strings.Contains(report, "not converted") {
			t.Errorf("%s\nbecame\n%s\nwant\n%s\n%s", from, got, want, report)
		}
	}
	for from, want := range map[string]string{
		`echo ${{ github.actor }}`:                "the expression ${{ github.actor }} has no counterpart",
		`echo ${{ toJSON(github) }}`:              "has no counterpart",
		"cat <<'END'\n${{ inputs.day }}\nEND\n":   "the delimiter of the here-document has quotes",
		`echo ${{ steps.none.outputs.x }}`:        "has no counterpart",
		`echo "x=1" >> $GITHUB_ENV; echo ${{ a }`: "GITHUB_ENV",
	} {
		text := "on: {workflow_dispatch: {inputs: {day: {}}}}\njobs:\n  a:\n    steps:\n      - run: |\n          " + strings.ReplaceAll(from, "\n", "\n          ")
		plan, report := converted(t, text+"\n", "")
		if run := plan.Steps()[0].Run; !strings.HasPrefix(run, "echo \"edit this step") || !strings.Contains(report, want) {
			t.Errorf("%s\nbecame\n%s\n%s", from, run, report)
		}
	}
}

// TestNothingIsLost: each key that no plan has is in the report.
func TestNothingIsLost(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"jobs: {a: {services: {db: {image: postgres:16}}, container: node:20, outputs: {x: y}, novel: 1, steps: [{run: b, sparkle: 1, shell: pwsh, working-directory: /tmp, timeout-minutes: '${{ x }}'}]}}\nodd: 1\n": {
			"runs docker run postgres:16", "do not run in a container", "jobs.a.novel: not converted: unknown key of a job", "sparkle: not converted",
			"pwsh: pawl has no such shell", "/tmp is not a path inside the project", "timeout-minutes: not converted", "odd: not converted: unknown key of a workflow",
		},
		"jobs: {a: {uses: ./.github/workflows/other.yml}, b: {strategy: {matrix: '${{ fromJSON(x) }}'}, steps: [{run: c, continue-on-error: '${{ x }}'}]}}\n": {
			"pawl calls no other workflows", "is known only while the workflow runs", "continue-on-error: not converted",
		},
		"novel: 1\nssh: {}\nsteps: [{command: a, repeatPolicy: {}, output: X, novel: 2, continueOn: {exitCode: 1}, parallel: [1], container: x, depends: nobody}]\n": {
			"f.yml:1:8: novel: not converted: unknown key of a DAG", "ssh: not converted", "repeatPolicy: not converted", "output: not converted", "novel: not converted: unknown key of a step",
			"continue_on.exitCode: not converted", "parallel: not converted", "container: not converted", `no step is called "nobody"`,
		},
		"version: 3\nodd: 1\nvars: {M: {map: {a: 1}}}\ntasks: {default: {odd: 1, dir: /x, deps: [none], cmds: [{cmd: a, odd: 1}, {for: sources, cmd: b}, {defer: {task: c}}, '{{now}}', {task: default}]}}\n": {
			"odd: not converted: unknown key of a Taskfile", "vars.M: not converted", "tasks.default.odd: not converted", "/x is not a path", `unknown task "none"`,
			"odd: not converted: unknown key of a command", "for: not converted", "defer: not converted", "the template {{now}} has no counterpart", `task "default" calls itself`,
		},
	} {
		plan, report := converted(t, text, "")
		for _, line := range want {
			if !strings.Contains(report, line) {
				t.Errorf("%s\nno %q in\n%s", text, line, report)
			}
		}
		guarded := 0
		for _, s := range plan.Steps() {
			if strings.HasPrefix(s.Run, "echo \"edit this step") {
				guarded++
			}
		}
		if guarded == 0 {
			t.Errorf("%s\nno step fails", text)
		}
	}
}

// TestOrder: jobs, DAGs and tasks run in the order that their systems promise.
func TestOrder(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"jobs: {c: {needs: [a, b], steps: [{run: x, id: x}]}, a: {steps: [{run: y, id: y}, {run: z, id: z}]}, b: {steps: [{run: w, id: w}]}}\n": "a.y[] a.z[a.y] b.w[] c.x[a.z b.w]",
		"jobs: {b: {needs: a, steps: [{run: x, id: x}]}, a: {steps: [{uses: actions/checkout@v4}]}}\n":                                          "b.x[]",
		"steps: [a, [b, c], d]\n": "a[] b[a] c[a] d[b c]",
		"steps: [{name: x, command: a}, {name: y, command: b, depends: x}, {name: z, command: c}]\n": "x[] y[x] z[]",
		"type: graph\nsteps: [a, b]\n":                "a[] b[]",
		"steps: {x: {command: a}, y: {command: b}}\n": "x[] y[x]",
		"version: 3\ntasks: {default: {deps: [a, b], cmd: d}, a: {deps: [c], cmd: x}, b: {deps: [c], cmd: x}, c: y}\n": "c[] a[c] b[c] default[a b]",
		"version: 3\ntasks: {default: {cmds: [{task: a}, b, {task: c}]}, a: x, c: y}\n":                                "a[] default[a] c[default]",
		"version: 3\ntasks: {default: {cmds: [{for: [p, q], task: a, vars: {X: '{{.ITEM}}'}}]}, a: 'echo {{.X}}'}\n":   "a-p[] a-q[a-p]",
		"version: 3\ntasks: {default: {deps: [{for: [p, q], task: a, vars: {X: '{{.ITEM}}'}}]}, a: 'echo {{.X}}'}\n":   "a-p[] a-q[]",
	} {
		plan, _ := converted(t, text, "")
		var got []string
		for _, s := range plan.Steps() {
			got = append(got, fmt.Sprintf("%s%v", s.ID, s.Needs))
		}
		if all := strings.Join(got, " "); all != want {
			t.Errorf("%s\n%s\nwant\n%s", text, all, want)
		}
	}
}

// TestConditionsWithoutCounterpart: what a condition without a counterpart guards does not run, also if it runs after failures.
func TestConditionsWithoutCounterpart(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"jobs: {a: {if: github.ref == 'x', steps: [{id: one, if: '1 == 2', run: b}, {id: two, if: always(), run: c}, {id: three, run: d}]}}\n":           "if! one two! three",
		"jobs: {a: {if: github.ref == 'x', steps: [{id: one, run: b}]}, b: {needs: a, if: failure(), steps: [{id: two, run: c}]}}\n":                     "a.if! a.one b.two!",
		"jobs: {a: {steps: [{id: one, if: github.ref == 'x', run: b}, {id: two, if: failure(), run: c}, {id: three, if: always(), run: d}]}}\n":          "one! two! three",
		"jobs: {a: {if: github.ref == 'x', steps: [{id: one, run: b}]}, b: {needs: a, if: always(), steps: [{id: two, run: c}, {id: three, run: d}]}}\n": "a.if! a.one b.two b.three",
		"jobs: {a: {steps: [{id: one, run: b}, {id: two, if: failure(), run: c}]}}\n":                                                                    "one two",
	} {
		plan, _ := converted(t, text, "")
		var got []string
		for _, s := range plan.Steps() {
			id := string(s.ID)
			if strings.HasPrefix(s.Run, "echo \"edit this step") {
				id += "!"
			}
			got = append(got, id)
		}
		if all := strings.Join(got, " "); all != want {
			t.Errorf("%s\n%s\nwant\n%s", text, all, want)
		}
	}
}

// TestExpressionsInScripts: secrets and variables become variables of the step, and what has no counterpart is named with its own line
// and what to do.
func TestExpressionsInScripts(t *testing.T) {
	t.Parallel()
	plan, report := converted(t, "jobs:\n  a:\n    steps:\n      - env: {URL: x}\n        run: |\n          curl ${{ vars.URL }}\n          echo '${{ secrets.KEY }}'\n          echo ${{ github.ref_name }} ${{ github.event.number }}\n", "")
	step := plan.Steps()[0]
	if got := step.Env["KEY"]; got.Value != "${KEY}" || !got.Secret {
		t.Errorf("the secret is %+v", got)
	}
	if got := step.Env["CALLER_URL"]; got.Value != "${URL}" || got.Secret || step.Env["URL"].Value != "x" {
		t.Errorf("the variable is %+v, in %+v", got, step.Env)
	}
	for _, line := range []string{"curl ${CALLER_URL}\n", `echo ''"${KEY}"''`, "echo $(git rev-parse --abbrev-ref HEAD) ${{ github.event.number }}\n"} {
		if !strings.Contains(step.Run, line) {
			t.Errorf("no %q in\n%s", line, step.Run)
		}
	}
	for _, line := range []string{"f.yml:7:1: run: set the variable KEY in the environment of pawl run", "f.yml:8:1: run: not converted: the expression ${{ github.event.number }} has no counterpart in a script; pawl has no events; add a parameter"} {
		if !strings.Contains(report, line) {
			t.Errorf("no %q in\n%s", line, report)
		}
	}
}
