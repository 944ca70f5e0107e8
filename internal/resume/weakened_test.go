package resume_test

import (
	"strings"
	"testing"

	"pawl/internal/planfile"
	"pawl/internal/resume"
)

const strict = `name: demo
mode: guided
budget: {usd: 5}
on_failure: ./clean
notify:
  - {on: [gate], command: ./tell}
steps:
  - {id: build, run: make, outputs: [a.out], accept: {tests: make test}, timeout: 10m, review: {ann: 80}}
  - {id: look, gate: {type: human_verify, ask: Good?}}
  - {id: ship, run: ./ship, idempotent: false, undo: ./unship}
`

// TestWeakened edits a plan in each way that lets more through, and in some that do not.
func TestWeakened(t *testing.T) {
	t.Parallel()
	before, err := planfile.Read("plan.yaml", []byte(strict))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, with, want string }{
		{"  - {id: look, gate: {type: human_verify, ask: Good?}}\n", "", "gate look was removed"},
		{"ask: Good?", "ask: Ready?", "gate look was changed"},
		{"ask: Good?}", "ask: Good?, expires: 1s}", "gate look was changed"},
		{"id: look, gate: {type: human_verify, ask: Good?}", "id: look, run: 'true'", "gate look was changed"},
		{"{id: ship,", "{id: ship, needs: [build],", "step ship no longer waits for gate look"},
		{"{id: ship,", "{id: ship, needs: [],", "step ship no longer waits for gate look"},
		{"tests: make test", "tests: 'true'", "check tests of step build was changed or removed"},
		{", accept: {tests: make test}", "", "check tests of step build was changed or removed"},
		{"  - {id: build, run: make, outputs: [a.out], accept: {tests: make test}, timeout: 10m, review: {ann: 80}}\n", "", "step build was removed, with its checks"},
		{"outputs: [a.out], ", "", "output a.out of step build was removed"},
		{"ann: 80", "ann: 10", "review of step build by ann was lowered or removed"},
		{"timeout: 10m", "timeout: 20m", "timeout of step build was raised or removed"},
		{"idempotent: false, ", "", "step ship is now idempotent"},
		{", undo: ./unship", "", "undo of step ship was changed or removed"},
		{"{id: build,", "{id: build, shell: sh,", "shell of step build was changed; it runs the checks and undo"},
		{"{id: ship,", "{id: ship, shell: sh,", "shell of step ship was changed; it runs the checks and undo"},
		{"mode: guided", "mode: autopilot", "mode: autopilot, was guided"},
		{"usd: 5", "usd: 50", "budget usd was raised or removed"},
		{"budget: {usd: 5}\n", "", "budget usd was raised or removed"},

		{"on_failure: ./clean", "on_failure: 'true'", "on_failure was changed or removed"},
		{"on_failure: ./clean", "on_failure: {run: ./clean, shell: sh}", "on_failure was changed or removed"},
		{"on_failure: ./clean\n", "", "on_failure was changed or removed"},
		{"on: [gate]", "on: [failure]", "notification command-1 was changed or removed"},
		{"command: ./tell", "webhook: https://example.com", "notification command-1 was changed or removed"},
		{"notify:\n  - {on: [gate], command: ./tell}\n", "", "notification command-1 was changed or removed"},

		{"on_failure: ./clean", "on_failure: {run: ./clean, timeout: 1m}\non_success: ./more", ""},
		{"  - {on: [gate], command: ./tell}\n", "  - {on: [gate], command: ./tell}\n  - {on: [blocked], command: ./tell}\n", ""},
		{"run: make,", "run: make all,", ""},
		{"tests: make test", "tests: make test, lint: make lint", ""},
		{"timeout: 10m", "timeout: 5m", ""},
		{"mode: guided", "mode: hands_on", ""},
		{"  - {id: look", "  - {id: more, run: 'true'}\n  - {id: look", ""},
	} {
		if !strings.Contains(strict, c.old) {
			t.Fatalf("the plan has no %q", c.old)
		}
		now, err := planfile.Read("plan.yaml", []byte(strings.Replace(strict, c.old, c.with, 1)))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(resume.Weakened(before, now), "; "); got != c.want && !(c.want != "" && strings.Contains(got, c.want)) {
			t.Errorf("%q to %q: %q, want %q", c.old, c.with, got, c.want)
		}
	}
}
