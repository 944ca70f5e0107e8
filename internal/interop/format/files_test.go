package format_test

import (
	"testing"

	"pawl/internal/interop/format"
)

func TestWanted(t *testing.T) {
	t.Parallel()
	patterns := []string{"**/.grid/*.md", "**/.grid/phases/*/*.md", "*-SUMMARY.md", "reports/*/queue/*.json"}
	for name, want := range map[string]bool{
		".grid/STATE.md": true, "packages/api/.grid/STATE.md": true, "a/.grid/phases/01-x/01-PLAN.md": true, "01-SUMMARY.md": true,
		"reports/t/queue/r.json": true, "a/01-SUMMARY.md": false, ".grid/x/STATE.md": false, "STATE.md": false, "": false,
		"a/reports/t/queue/r.json": false, "reports/t/queue/r/x.json": false, "x.grid/STATE.md": false, ".grid": false,
	} {
		if got := format.Wanted(patterns, name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}

// TestMayHold: a folder is passed over only where nothing that is wanted can lie below it.
func TestMayHold(t *testing.T) {
	t.Parallel()
	patterns := []string{"notebooks/*.ipynb", "reports/*/checkpoints/*/*/checkpoint.json", "*.md"}
	for folder, want := range map[string]bool{
		"notebooks": true, "reports": true, "reports/t": true, "reports/t/checkpoints": true, "reports/t/checkpoints/r/c": true,
		"notebooks/x": false, "src": false, "reports/t/data": false, "reports/t/checkpoints/r/c/d": false, "a/reports": false,
	} {
		if got := format.MayHold(patterns, folder); got != want {
			t.Errorf("%q: %v", folder, got)
		}
		if !format.MayHold(append(patterns, "**/x/*.md"), folder) {
			t.Errorf("%q is passed over, though x may lie anywhere", folder)
		}
	}
}

func TestOnTheWay(t *testing.T) {
	t.Parallel()
	patterns := []string{"**/.grid/phases/*/*.md", "reports/*/queue/*.json", "*.sql", "**/*state*.db"}
	for folder, want := range map[string]bool{
		".grid": true, "a/b/.grid": true, ".grid/phases/01": true, "reports": true, "reports/t": true, "reports/t/queue": true,
		"src": false, "a/reports": false, "reports/t/data": false, ".grid/phases/01/x": false, "a/b": false,
	} {
		if got := format.OnTheWay(patterns, folder); got != want {
			t.Errorf("%q: %v", folder, got)
		}
	}
}
