package schema_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
	"go.yaml.in/yaml/v4"

	"pawl/internal/planfile"
	"pawl/internal/schema"
)

var update = flag.Bool("update", false, "rewrite the golden file")

// TestSchema validates plans that are good, and some that are not.
func TestSchema(t *testing.T) {
	t.Parallel()
	plans := planSchema(t)
	good, err := filepath.Glob("../planfile/testdata/good/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	examples, err := filepath.Glob("../../examples/*/plan.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(good, examples...) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := planfile.Read(path, data); err != nil {
			t.Errorf("the reader refuses it: %v", err)
		}
		if err := plans.Validate(untyped(t, data)); err != nil {
			t.Errorf("%s: the schema refuses it: %v", path, err)
		}
	}
	for _, name := range []string{"unknown_key", "wrong_type", "two_actions", "illegal_id", "no_steps",
		"phases_and_steps", "foreach", "gate", "limits", "empty_phase", "not_a_mapping", "matrix"} {
		data, err := os.ReadFile("../planfile/testdata/bad/" + name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		if plans.Validate(untyped(t, data)) == nil {
			t.Errorf("the schema accepts %s", name)
		}
	}
}

// TestIncludes validates plans with includes.
func TestIncludes(t *testing.T) {
	t.Parallel()
	plans := planSchema(t)
	for text, valid := range map[string]bool{
		"name: x\nsteps: [{include: a.yaml, prefix: a-, env: {A: $B}}, {id: a, run: b}]":             true,
		"name: x\nphases: [{include: a.yaml}, {name: p, steps: [{include: b.yaml}]}]":                true,
		"name: x\nsteps: [{include: a.yaml, id: a, run: b}]":                                         false,
		"name: x\nsteps: [{include: 5}]":                                                             false,
		"name: x\nphases: [{include: a.yaml, steps: []}]":                                            false,
		"name: x\nsteps: [{id: a, run: b, foreach: {include: [{a: 1}]}}]":                            true,
		"name: x\nsteps: [{id: a, run: b, foreach: {exclude: [{a: 1}], items: [a]}}]":                false,
		"name: x\nsteps: [{id: a, run: b, foreach: {matrix: {a: [1]}, items: [a]}}]":                 false,
		"name: x\nsteps: [{id: a, run: b, foreach: {matrix: {a: [1, x, true]}, include: [{b: c}]}}]": true,
	} {
		if err := plans.Validate(untyped(t, []byte(text))); (err == nil) != valid {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestKeys compares the descriptions of the keys with a file, so that changes show.
func TestKeys(t *testing.T) {
	t.Parallel()
	data, err := schema.Plan()
	if err != nil {
		t.Fatal(err)
	}
	const path = "testdata/schema.golden"
	if *update {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(data)); diff != "" {
		t.Errorf("%s: -want +got\n%s", path, diff)
	}
}

func planSchema(t *testing.T) *jsonschema.Resolved {
	t.Helper()
	data, err := schema.Plan()
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return resolved
}

// untyped returns what YAML says as JSON would.
func untyped(t *testing.T, data []byte) any {
	t.Helper()
	var v any
	if err := yaml.Load(data, &v); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var plain any
	if err := json.Unmarshal(text, &plain); err != nil {
		t.Fatal(err)
	}
	return plain
}
