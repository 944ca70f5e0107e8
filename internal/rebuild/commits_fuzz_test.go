package rebuild

import (
	"testing"

	"pawl"
)

// FuzzCommits reads anything as the subject of a commit. It names a step only if the plan has it.
func FuzzCommits(f *testing.F) {
	for _, subject := range []string{"feat(one): x", "Revert \"fix(02-01)!: y\"", "test(02.1): z", "chore(each/a): w", "docs(999-999): v", "feat(\xff): u"} {
		f.Add(subject)
	}
	plan := &pawl.Plan{Phases: []pawl.Phase{{Steps: []pawl.Step{{ID: "one"}, {ID: "each"}}}, {Steps: []pawl.Step{{ID: "last-3"}}}}}
	f.Fuzz(func(t *testing.T, subject string) {
		c := Commit{Subject: subject}
		c.reverts()
		scope := c.scope()
		if id := stepOf(plan, scope); id != "" && plan.Step(id) == nil {
			t.Errorf("%q names the step %q", subject, id)
		}
		for _, step := range plan.Steps() {
			if named, item := c.names(plan, Unit{Step: step, Item: "a", Index: 0}); item && !named {
				t.Errorf("%q names an item of %q, but not the step", subject, step.ID)
			}
		}
	})
}
