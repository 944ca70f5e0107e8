package convert_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"pawl"
	"pawl/internal/interop/convert"
	"pawl/internal/planfile"
)

// FuzzConvert: any file gives a valid plan, always the same, or an error of the user's.
func FuzzConvert(f *testing.F) {
	for i, system := range convert.Systems {
		files, err := filepath.Glob(filepath.Join("testdata", string(system), "*.y*ml"))
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data, uint8(i), "")
		}
	}
	for _, text := range []string{
		"jobs: {a: {steps: [{run: 'echo ${{ inputs.x }} ''${{ matrix.y }}'' ${{ secrets.Z }}', if: \"!cancelled() && contains(env.A, 'b')\"}], needs: [b]}, b: {uses: x}}\non: {workflow_dispatch: {inputs: {x: {type: choice}}}}",
		"jobs: {a: {strategy: {matrix: {y: [1, 2], include: [{y: 3, z: 4}], exclude: [{y: 1}]}}, steps: [{run: 'cat <<E\n${{ matrix.z }}\nE\n', shell: python, env: {A: '${{ matrix.y }}'}}]}}",
		"steps: [{run: 'echo ${steps.a.b} ${params.c}', preconditions: [{condition: $X, expected: 're:y'}], retry_policy: {limit: 2}, output: X}, [a, b], {exec: {command: c}}]\nparams: 'a b=c'",
		"version: 3\nvars: {A: '{{.B}}', B: {sh: 'echo {{.C}}'}}\ntasks: {default: {deps: [x, {task: x, vars: {A: 1}}], cmds: [{for: {var: A}, cmd: 'echo {{.ITEM}}'}, {task: default}, {defer: c}]}, x: 'echo {{.A | default \"b\"}}'}",
	} {
		for i := range convert.Systems {
			f.Add([]byte(text), uint8(i), "")
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, which uint8, job string) {
		system := append(convert.Systems, "")[int(which)%(len(convert.Systems)+1)]
		r, err := convert.Convert("file.yml", data, system, job)
		if err != nil {
			if e, ok := errors.AsType[*pawl.Error](err); !ok || e.Kind != pawl.KindUsage {
				t.Fatalf("%v", err)
			}
			return
		}
		if _, err := planfile.Read("plan.yaml", r.Plan); err != nil {
			t.Fatalf("%v\n%s", err, r.Plan)
		}
		again, err := convert.Convert("file.yml", data, system, job)
		if err != nil || string(again.Plan) != string(r.Plan) {
			t.Fatalf("converted twice: %v\n%s\n%s", err, r.Plan, again.Plan)
		}
		for _, n := range r.Notes {
			if n.Line < 1 || n.Column < 1 || n.Text == "" {
				t.Fatalf("%+v", n)
			}
		}
	})
}
