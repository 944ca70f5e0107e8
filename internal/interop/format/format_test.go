package format_test

import (
	"testing"

	"pawl/internal/interop/format"
	"pawl/internal/interop/format/dotagent"
	"pawl/internal/interop/format/grid"
	"pawl/internal/interop/format/gyoshu"
	"pawl/internal/interop/format/projectstate"
	"pawl/internal/interop/format/sitebuilder"
)

// TestFormats: each format sets the functions that are required, and both or none of those that come in pairs.
func TestFormats(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]format.Format{
		"grid": grid.Format(), "dotagent": dotagent.Format(), "sitebuilder": sitebuilder.Format(),
		"projectstate": projectstate.Format(), "gyoshu": gyoshu.Format(),
	} {
		if f.Name != name || len(f.Patterns) == 0 || f.Read == nil || f.Write == nil || f.Verify == nil {
			t.Errorf("%s: %q lacks a required function", name, f.Name)
		}
		for pair, whole := range map[string]bool{
			"Places, At": (f.Places == nil) == (f.At == nil), "Projects, Select": (f.Projects == nil) == (f.Select == nil),
			"ResumePrompt, Archive": (f.ResumePrompt == nil) == (f.Archive == nil),
		} {
			if !whole {
				t.Errorf("%s sets only one of %s", name, pair)
			}
		}
		if f.At != nil && f.At("x").At == nil || f.Select != nil && f.Select("x").Select == nil {
			t.Errorf("%s: the format of one project lacks what the whole has", name)
		}
	}
}
