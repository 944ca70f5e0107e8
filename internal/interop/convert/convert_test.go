package convert_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl/internal/expression"
	"pawl/internal/interop/convert"
	"pawl/internal/planfile"
)

func TestMain(m *testing.M) {
	planfile.Register(expression.Language{})
	os.Exit(m.Run())
}

var update = flag.Bool("update", false, "rewrite the expected plans and reports")

// TestGoldens converts files of the shape that real ones have. The plan is in FILE.plan, the report in FILE.report.
func TestGoldens(t *testing.T) {
	t.Parallel()
	for _, system := range convert.Systems {
		files, err := filepath.Glob(filepath.Join("testdata", string(system), "*.y*ml"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no files, %v", system, err)
		}
		for _, file := range files {
			t.Run(filepath.Base(file), func(t *testing.T) {
				t.Parallel()
				data, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				name := filepath.Base(file)
				r, err := convert.Convert(name, data, "", "")
				if err != nil {
					t.Fatal(err)
				}
				if r.System != system {
					t.Errorf("detected %s", r.System)
				}
				var report strings.Builder
				for _, n := range r.Notes {
					fmt.Fprintln(&report, n.In(name))
				}
				fmt.Fprintf(&report, "%d steps, %d not converted\n", r.Steps, r.Lost)
				golden(t, file+".plan", string(r.Plan))
				golden(t, file+".report", report.String())
				if _, err := planfile.Read("plan.yaml", r.Plan); err != nil {
					t.Errorf("the plan is invalid: %v", err)
				}
			})
		}
	}
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s:\n%s\nwant\n%s", path, got, want)
	}
}
