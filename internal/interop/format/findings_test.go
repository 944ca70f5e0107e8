package format_test

import (
	"slices"
	"testing"

	"pawl"
	"pawl/internal/interop/format"
)

func TestFindingsAreToldOnce(t *testing.T) {
	t.Parallel()
	var f format.Findings
	bad, warn, good := pawl.Finding{Level: pawl.Bad, What: "a"}, pawl.Finding{Level: pawl.Warn, What: "a"}, pawl.Finding{Level: pawl.OK, What: "met"}
	f.Find(warn, bad, warn)
	f.Find(bad)
	f.Check("not met", []pawl.Finding{bad})
	f.Check("met", nil)
	if want := []pawl.Finding{warn, bad, good}; !slices.Equal(f.Found(), want) {
		t.Errorf("%v", f.Found())
	}
}
