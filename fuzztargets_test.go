package pawl_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// unfuzzed are packages that decode, but nothing that others could have written.
var unfuzzed = map[string]string{
	"pawl/durable":                               "results of the caller's own steps",
	"pawl/internal/redact/generate":              "a file of the developer's",
	"pawl/internal/agents/agentstest":            "for tests",
	"pawl/internal/agents/headless/headlesstest": "for tests",
	"pawl/internal/engine/enginetest":            "for tests",
	"pawl/internal/resume":                       "events, which pawl's target FuzzApply decodes",
}

// TestFuzzTargets requires a fuzz target in each package that decodes JSON or YAML.
func TestFuzzTargets(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		if layerOf[p.ImportPath] == "tests" || unfuzzed[p.ImportPath] != "" || !decodes(t, p.Dir, p.GoFiles) {
			continue
		}
		tests, err := filepath.Glob(filepath.Join(p.Dir, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, path := range tests {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			found = found || bytes.Contains(data, []byte("\nfunc Fuzz"))
		}
		if !found {
			t.Errorf("%s decodes and has no fuzz target", p.ImportPath)
		}
	}
}

func decodes(t *testing.T, dir string, files []string) bool {
	t.Helper()
	for _, name := range files {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, call := range []string{"json.Unmarshal(", "json.NewDecoder(", "strictyaml.Read(", "strictyaml.Tree("} {
			if bytes.Contains(data, []byte(call)) {
				return true
			}
		}
	}
	return false
}
