//go:build linux

package supervise

import (
	"slices"
	"testing"

	"pawl/internal/supervise/process"
)

// found returns the proofs by which the members of a family are found, by name.
func (a *attempt) found() map[string]Proof {
	a.Helper()
	table, err := process.Table()
	a.no(err)
	survivors, err := Survivors(a.dir, table)
	a.no(err)
	proofs := map[string]Proof{}
	for name, pid := range a.pids() {
		for _, s := range survivors {
			if s.PID == pid {
				proofs[name] = s.Proof
			}
		}
	}
	return proofs
}

func TestSurvivors(t *testing.T) {
	a := doing(t, "family")
	begun := *a.lose()
	if begun.Cgroup != "" {
		for _, name := range a.survivors() {
			if proof := a.found()[name]; proof != ByCgroup {
				t.Errorf("%s: by %q", name, proof)
			}
		}
	}
	cgroup := begun.Cgroup
	begun.Cgroup = ""
	a.rewrite(begun)
	found := a.found()
	for _, name := range a.survivors() {
		proof, seen := found[name]
		if seen == (name == "daemon") || seen && proof != ByToken && proof != BySession && proof != ByDescent {
			t.Errorf("%s without a cgroup: %v by %q", name, seen, proof)
		}
	}
	boot := begun.Supervisor.BootID
	begun.Supervisor.BootID = "another"
	a.rewrite(begun)
	if found := a.found(); len(found) > 0 {
		t.Errorf("after a restart: %v", found)
	}
	begun.Supervisor.BootID, begun.Cgroup = boot, cgroup
	a.rewrite(begun)
	Sweep(a.dir, "")
	if left := a.survivors(); cgroup != "" && !slices.Equal(left, nil) {
		t.Errorf("left: %v", left)
	}
}

func TestSurvivorsOfALiveAttempt(t *testing.T) {
	a := doing(t, "family")
	running := a.start()
	a.waitFor("leader", "child", "session", "group", "nameless", "daemon")
	for _, name := range a.survivors() {
		if proof := a.found()[name]; proof != BySupervisor {
			t.Errorf("%s: by %q", name, proof)
		}
	}
	a.no(Kill(a.dir))
	a.no(running.Wait(a.soon()))
	Sweep(a.dir, "")
}
