package kills

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl/internal/disk/disktest"
	"pawl/test/stories/storytest"
)

// updatePlan writes into a ledger outside the project what runs.
const updatePlan = `name: demo
parallel: 1
steps:
  - {id: fetch, run: echo fetch >> ../ledger, needs: []}
  - {id: each, foreach: {items: [a, b]}, run: 'echo $PAWL_ITEM >> ../ledger; echo x > $PAWL_ITEM.out', outputs: [$PAWL_ITEM.out], needs: []}
  - {id: report, run: 'echo report >> ../ledger; cat in.txt > report.txt', inputs: [in.txt], outputs: [report.txt]}
`

// TestUpdateDiesAnywhere kills `pawl run --update` at the calls that change the disk, first of all while it adopts. Repeating the
// command, or resuming the run if there is one, has the same result as an update that is not killed.
func TestUpdateDiesAnywhere(t *testing.T) {
	t.Parallel()
	l := &ledger{T: t, dir: filepath.Join(t.TempDir(), "story"), saved: filepath.Join(t.TempDir(), "saved"), binary: storytest.Build(t, "faults")}
	write := func(name, text string) {
		if err := os.WriteFile(l.path("project", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(l.path("project"), 0o700); err != nil {
		t.Fatal(err)
	}
	write("plan.yaml", updatePlan)
	write("in.txt", "first")
	l.must("run", "plan.yaml")
	write("in.txt", "second")
	l.copy(l.dir, l.saved)
	hit, resumed := 0, 0
	for n := range disktest.FaultPoints(0, 3, math.MaxInt) {
		l.copy(l.saved, l.dir)
		calls := l.path("calls")
		_, code := l.pawl([]string{disktest.FaultVar + fmt.Sprintf("=die:%d", n), disktest.FaultOnly + "=run", disktest.FaultCount + "=" + calls}, "run", "--update", "plan.yaml")
		if code == 0 {
			break
		}
		hit++
		said, code := l.pawl(nil, "run", "--update", "plan.yaml")
		if code == 2 && strings.Contains(said, "is unfinished") {
			resumed++
			l.must("resume", "--yes")
		} else if code != 0 {
			t.Fatalf("call %d: again: %s", n, said)
		}
		l.wantUpdated(fmt.Sprintf("call %d", n))
	}
	if hit < 10 || resumed < 5 {
		t.Errorf("%d calls were hit, and %d runs resumed", hit, resumed)
	}
	t.Logf("%d calls, %d runs resumed", hit, resumed)
}

// wantUpdated checks that only the step with the changed input ran again, once, and that nothing is left to do.
func (l *ledger) wantUpdated(where string) {
	l.Helper()
	data, err := os.ReadFile(l.path("ledger"))
	if err != nil {
		l.Fatal(err)
	}
	if got := string(data); got != "fetch\na\nb\nreport\nreport\n" {
		l.Errorf("%s: the ledger is %q", where, got)
	}
	if said := l.must("status", "--json"); strings.Count(said, `"from":`) != 2 || !strings.Contains(said, `"status": "completed"`) {
		l.Errorf("%s: %s", where, said)
	}
	if said := l.must("run", "--update", "plan.yaml"); said != "nothing to do: 3 steps are up to date\n" {
		l.Errorf("%s: again: %s", where, said)
	}
	if said := l.must("verify"); !strings.Contains(said, " 0 faults") {
		l.Errorf("%s: verify: %s", where, said)
	}
}
