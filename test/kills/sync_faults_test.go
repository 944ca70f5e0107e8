package kills

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pawl/internal/disk/disktest"
	"pawl/test/stories/storytest"
)

// twoSteps has steps that must not be repeated. Each leaves a line in a ledger outside the project.
const twoSteps = `name: demo
steps:
  - {id: one, idempotent: false, run: echo one >> ../ledger}
  - {id: two, idempotent: false, run: echo two >> ../ledger}
`

// TestEndAndIntentShareASync kills the engine at each call that changes the disk while the end of a step and the intent of the next one
// are written, which share a sync. The first step is not repeated, the second one runs once, and no gate opens. Its supervisor starts
// after that sync.
func TestEndAndIntentShareASync(t *testing.T) {
	t.Parallel()
	binary := storytest.Build(t, "faults")
	calls := dieAt(t, binary, 0)
	spawn := lastIndex(calls, len(calls), "spawn")
	before := lastIndex(calls, spawn, "spawn")
	intent, sync := lastIndex(calls, spawn, "create"), lastIndex(calls, spawn, "sync")
	if before < 0 || intent < before || sync < intent {
		t.Fatalf("the second supervisor does not start after the sync of its intent: %q", calls[max(before, 0):spawn])
	}
	if slices.Contains(calls[intent-3:intent], "sync") { // mkdir, mkdir and create: the lock in the folder of the attempt
		t.Fatalf("the end of the first step is synced alone: %q", calls[before:spawn])
	}
	for n := sync - 10; n <= spawn+1; n++ {
		dieAt(t, binary, n)
	}
}

// dieAt runs a plan whose engine dies at its nth call, and resumes it. It returns the calls; n is 0 for none.
func dieAt(t *testing.T, binary string, n int) (calls []string) {
	t.Helper()
	l := &ledger{T: t, dir: filepath.Join(t.TempDir(), "story"), binary: binary}
	if err := os.MkdirAll(l.path("project"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(l.path("project", "plan.yaml"), []byte(twoSteps), 0o600); err != nil {
		t.Fatal(err)
	}
	_, code := l.pawl([]string{
		disktest.FaultVar + fmt.Sprintf("=die:%d", n), disktest.FaultOnly + "=run", disktest.FaultLog + "=" + l.path("calls"),
	}, "run", "plan.yaml")
	if code == -1 {
		l.must("resume", "--yes")
	}
	if got := l.lines("ledger"); !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("call %d: ledger: %v", n, got)
	}
	data, err := os.ReadFile(l.path("calls"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		calls = append(calls, strings.Fields(line)[2])
	}
	return calls
}

// lastIndex returns the last index of a call before another one, or -1.
func lastIndex(calls []string, before int, call string) int {
	for i := range slices.Backward(calls[:max(before, 0)]) {
		if calls[i] == call {
			return i
		}
	}
	return -1
}
