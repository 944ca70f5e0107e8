package report_test

import (
	"slices"
	"testing"

	"pawl"
	"pawl/internal/interop/format/report"
)

// TestReport: each finding is held once, in the order in which it was added.
func TestReport(t *testing.T) {
	t.Parallel()
	var r report.Report
	bad, warn, passed := pawl.Finding{Level: pawl.Bad, What: "a"}, pawl.Finding{Level: pawl.Warn, What: "a"}, pawl.Finding{Level: pawl.OK, What: "passed"}
	r.Add(warn, bad, warn)
	r.Add(bad)
	r.Check("failed", []pawl.Finding{bad})
	r.Check("passed", nil)
	here := r.Find(pawl.Warn, report.Where("f", 2), "fix it", "%d of %s", 1, "a")
	if again := r.Find(pawl.Warn, "f:2", "fix it", "1 of a"); again != here {
		t.Errorf("%+v, %+v", here, again)
	}
	r.Warn(report.Where("f", 0), "100%%")
	r.Bad("f", "b")
	want := []pawl.Finding{warn, bad, passed, {Level: pawl.Warn, What: "1 of a", Where: "f:2", Hint: "fix it"},
		{Level: pawl.Warn, What: "100%", Where: "f"}, {Level: pawl.Bad, What: "b", Where: "f"}}
	if !slices.Equal(r.Findings(), want) {
		t.Errorf("%v", r.Findings())
	}
}
