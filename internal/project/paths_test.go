package project

import (
	"path/filepath"
	"strings"
	"testing"

	"pawl"
)

// FuzzPaths: whatever ids a planted journal contains, no path leads out of the folder that it belongs to.
func FuzzPaths(f *testing.F) {
	for _, id := range []string{"", ".", "..", "../..", "a/../../..", "/etc/passwd", "a\x00b", "run-20260101-000000-0000", strings.Repeat("x", 300), "..\\..", "\xff"} {
		f.Add(id, id, id, 1)
		f.Add("run", id, "", -1)
		f.Add("run", "step", id, 0)
	}
	f.Fuzz(func(t *testing.T, run, step, item string, attempt int) {
		p := &Project{Root: "/a/b"}
		r, s := pawl.RunID(run), pawl.StepID(step)
		ref := pawl.AttemptRef{Step: s, Item: pawl.ItemID(item), Attempt: attempt}
		below(t, "/a/b/.pawl/runs", p.RunDir(r), p.AttemptDir(ref, r), p.UndoDir(pawl.UndoRef{AttemptRef: ref}, r),
			p.PlanFile(r, attempt), p.MirrorFile(r), p.StateFile(r), p.CheckpointFile(r), p.DecisionsFile(r), p.BlockersFile(r), p.SummaryFile(r, s))
		below(t, p.RunDir(r), p.AttemptDir(ref, r), p.SummaryFile(r, s))
		below(t, "/a/b/.pawl/archive", p.ArchivedDir(r))
		below(t, "/a/b/.pawl", p.CheckpointRequest(pawl.CheckpointKind(item)))
		below(t, "/a/b/artifacts", p.OutDir(r, s))
	})
}

// below fails the test unless all paths lie in a folder.
func below(t *testing.T, folder string, paths ...string) {
	t.Helper()
	for _, path := range paths {
		rel, err := filepath.Rel(folder, path)
		if err != nil || !filepath.IsLocal(rel) || rel == "." || path != filepath.Clean(path) || strings.ContainsRune(path, 0) {
			t.Errorf("%q is not below %s", path, folder)
		}
		for name := range strings.SplitSeq(path, "/") {
			if len(name) > maxName {
				t.Errorf("%q has a name that is too long", path)
			}
		}
	}
}
