package rebuild_test

import (
	"testing"

	"pawl"
	"pawl/internal/rebuild"
)

// TestCommitsName maps conventional commits of every type to steps: by id, by number, by phase and number, by thread.
func TestCommitsName(t *testing.T) {
	t.Parallel()
	types := []string{"feat", "fix", "docs", "test", "refactor", "perf", "chore", "build", "ci", "style"}
	for scope, want := range map[string]string{
		"one": "one", "ONE": "one", "01": "one", "1": "one", "02": "once", "03": "look", "01-02": "once", "02-01": "look", "02-03": "last",
		"5": "last", "each/a": "each/a", "04.2": "each/b", "00": "", "6": "", "03-01": "", "content": "", "each/x": "",
	} {
		for _, typ := range types {
			for _, mark := range []string{"", "!"} {
				e := evidence(t)
				e.Commits = []rebuild.Commit{{Hash: "c0ffee", Subject: typ + "(" + scope + ")" + mark + ": something"}}
				p := reconstruct(t, e, rebuild.Certain)
				for _, part := range p.Parts {
					if part.What != "step" && part.What != "item" {
						continue
					}
					name := (pawl.AttemptRef{Step: part.Step, Item: part.Item}).Name()
					if part.Status == rebuild.PartInDoubt && name != want {
						t.Errorf("%s(%s): takes %s for worked on, want %q: %v", typ, scope, name, want, part.Evidence)
					}
					if name == want && part.Status != rebuild.PartInDoubt {
						t.Errorf("%s(%s): %s is %s", typ, scope, name, part.Status)
					}
				}
			}
		}
	}
	for _, subject := range []string{"feat: without a scope", "wip(one): no type of the convention", "feat(one) no colon", "one: done"} {
		e := evidence(t)
		e.Commits = []rebuild.Commit{{Hash: "c0ffee", Subject: subject}}
		if part := partOf(t, reconstruct(t, e, rebuild.Certain), "one"); part.Status != rebuild.PartNotDone {
			t.Errorf("%q: %+v", subject, part)
		}
	}
}
