package planlint_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl/internal/planfile"
	"pawl/internal/planlint"
)

// warningsOf returns the warnings about a step with this script.
func warningsOf(t *testing.T, shell, script string) string {
	t.Helper()
	text := fmt.Sprintf("name: p\nsteps:\n- {id: a, shell: %q, run: %q}\n", shell, script)
	plan, file, err := planfile.ReadPositions("p", []byte(text))
	if err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	if err := planlint.Warnings("p", plan, file); err != nil {
		return err.Error()
	}
	return ""
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{
		"fetch | sort > x":                       `in "fetch … | sort"`,
		"a=1 b 2>&1 | c":                         `… | c"`,
		"x=$(ls | wc -l)":                        `"ls … | wc"`,
		"if grep x y | head; then z; fi":         `"grep … | head", sh ignores a failure of grep; write`,
		"cat <<END | sort\na | b\nEND\n":         `"cat … | sort"`,
		"source .venv/bin/activate":              "write: . .venv/bin/activate",
		"make ${{ params.env }}":                 "p:3:38: run: pawl does not replace ${{ … }} here; read $PAWL_PARAM_ENV",
		"echo ${{ run.name }}":                   "set a variable in env to it, and read the variable",
		"if true; then\n  source env.sh; fi":     "write: . ./env.sh",
		"[[ -e x ]] && y":                        `"[["`,
		"set -eo pipefail":                       "which sets it",
		"make\nif [ $? -ne 0 ]; then echo x; fi": "$? is always 0",
		"make; code=$?; echo done":               "$? is always 0",
		"make; echo \"code $?\"":                 "$? is always 0",
		"echo it's\nmake":                        "a quote ' is not closed, and /bin/sh rejects the script",
		"make \"all\necho done":                  `a quote " is not closed`,
	} {
		if got := warningsOf(t, "sh -e", script); !strings.Contains(got, want) || strings.Count(got, "\n") > 0 {
			t.Errorf("%q: %q, want %q", script, got, want)
		}
	}
}

// What the shell notices, what it does not need to notice and what the scanner does not understand gives no warning.
func TestNoWarnings(t *testing.T) {
	t.Parallel()
	for _, script := range []string{
		"", "|", "| a", "a |", "a || b", "a && b", "a >| b", "echo x | tee y", "printf '%s' a | b", "echo 'a | b'", `echo "a | b"`, "# a | b\nc",
		"case x in a|b) c ;; esac", "echo $((1|2))", "cat <<END\na | b\nEND\n", "grep -c 'a|b' x || true", `a \| b`, "echo ${x:-a|b}",
		"echo source x", "source() { :; }; source x", "test -e x; sources y",
		"a || code=$?", "if a; then b; fi\ncode=$?", "! a; code=$?", "set +e\na\ncode=$?", "a && b; echo $?", "sh -c 'a; echo $?'", "a & wait; true",
		"trap 'echo $?' EXIT\na", "echo x; echo $?", "$?", `echo "$(echo 'a"b')" "it's"`, "# it's", "cat <<END\nit's\nEND", `echo \'`, "while a; do b; done; echo x",
	} {
		if got := warningsOf(t, "sh -e", "true\n"+script); got != "" {
			t.Errorf("%q: %s", script, got)
		}
	}
	for shell, script := range map[string]string{
		"bash": "a | b; source x; [[ a ]]", "python": "a | b\nsource x", "sh": "make; echo $?", "zsh -e {}": "a | b; source x",
	} {
		if got := warningsOf(t, shell, script); got != "" {
			t.Errorf("%s: %s", shell, got)
		}
	}
}

// Warnings have the positions of checks and undo too.
func TestPositions(t *testing.T) {
	t.Parallel()
	const text = `name: p
steps:
  - id: a
    run: |
      a | b
    accept:
      sorted: c | d; source e
    undo: e | f
  - {id: b, shell: bash, run: a | b}
`
	plan, file, err := planfile.ReadPositions("p", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	got := planlint.Warnings("plan.yaml", plan, file).Error()
	for i, want := range []string{"plan.yaml:4:5: run: ", "plan.yaml:7:7: check sorted: ", "plan.yaml:8:11: undo: "} {
		if lines := strings.Split(got, "\n"); len(lines) != 3 || !strings.HasPrefix(lines[i], want) {
			t.Errorf("want %q in\n%s", want, got)
		}
	}
	if file.Count() != 0 {
		t.Error("warnings count as errors")
	}
}

func TestMissing(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "bash"), []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	const text = `name: p
defaults: {shell: "no-such-shell {}"}
steps:
  - {id: default, run: a}
  - {id: installed, shell: bash, run: a}
  - {id: node, shell: "node {}", run: a}
  - {id: made, shell: ".venv/bin/python {}", run: a}
  - {id: absent, shell: "/no/such/program {}", run: a}
  - {id: own, shell: bash, run: a, env: {PATH: /nowhere}}
  - {id: later, shell: "ruby {}", run: a, env: {PATH: tools}}
  - {id: variable, shell: "ruby {}", run: a, env: {PATH: "/nowhere:$TOOLS/bin"}}
  - {id: gate, gate: {type: human_action, ask: a}}
`
	plan, file, err := planfile.ReadPositions("p", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`p:2:19: no-such-shell, the program of shell "no-such-shell {}", is not installed; install the package no-such-shell, or use another shell`,
		`p:6:23: node, the program of shell "node {}", is not installed; install the package nodejs, or use another shell`,
		`p:8:25: /no/such/program, the program of shell "/no/such/program {}", is not installed; install the package program, or use another shell`,
		`p:9:22: bash, the program of shell "bash", is not installed; install the package bash, or use another shell`,
	}
	if got := planlint.Missing("p", plan, file, bin).Error(); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

func FuzzWarnings(f *testing.F) {
	for _, seed := range []string{"a | b", "cat <<E\nx", "$((", "${", "\"$(", "case a in b|c", ">", "<<", "a;;`"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, script string) {
		plan, file, err := planfile.ReadPositions("p", []byte("name: p\nsteps: [{id: a, run: a}]"))
		if err != nil {
			t.Fatal(err)
		}
		plan.Steps()[0].Run = script
		if err := planlint.Warnings("p", plan, file); err != nil && err.Error() == "" {
			t.Error("a warning without text")
		}
	})
}
