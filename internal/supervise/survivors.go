package supervise

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"pawl"
	"pawl/internal/supervise/process"
)

// A Survivor is a process that an attempt has started, and that runs.
type Survivor struct {
	process.Stat
	Proof Proof
}

// Proof is by what a process is known to be of an attempt.
type Proof string

// The proofs. What has none may be of the attempt, and is never ended.
const (
	ByCgroup     Proof = "cgroup"     // it is in the attempt's own group
	ByToken      Proof = "token"      // it was started with the attempt's token in its environment
	BySession    Proof = "session"    // it is in the session of the attempt's supervisor
	ByDescent    Proof = "descent"    // a process that is proven started it
	BySupervisor Proof = "supervisor" // its supervisor lives, and looks after it
)

// Survivors finds what an attempt has left running, as Sweep does, and ends nothing. Of an attempt whose supervisor lives
// it is all that the supervisor looks after.
func Survivors(dir string, table []process.Stat) ([]Survivor, error) {
	status, err := Probe(dir)
	switch {
	case err != nil:
		return nil, fmt.Errorf("look for processes: %w", err)
	case status.Begun == nil || !process.SameBoot(status.Begun.Supervisor):
		return nil, nil
	}
	if _, err := process.Find(status.Begun.Supervisor); errors.Is(err, process.ErrElsewhere) {
		return nil, fmt.Errorf("look for processes: %w: they cannot be seen from here", err)
	}
	if status.State == Live {
		return looked(process.Below(table, status.Begun.Supervisor.PID), BySupervisor), nil
	}
	return left(dir, table, *status.Begun)
}

func looked(stats []process.Stat, proof Proof) []Survivor {
	found := make([]Survivor, len(stats))
	for i, s := range stats {
		found[i] = Survivor{Stat: s, Proof: proof}
	}
	return found
}

// left returns what a dead supervisor's attempt has left, each with the best proof that there is.
func left(dir string, table []process.Stat, begun pawl.Begun) ([]Survivor, error) {
	beat, err := lastBeat(dir)
	if err != nil {
		return nil, err
	}
	group := groupMembers(begun)
	carries := func(pid int, variable string) bool { return process.Carries(pid, variable) }
	ours, doubtful := victims(table, begun, beat, os.Getpid(), carries)
	found := looked(ours, ByDescent)
	for _, s := range table {
		if group[s.PID] && !s.Dead && !has(found, s.PID) {
			found = append(found, Survivor{Stat: s})
		}
	}
	for i, s := range found {
		switch {
		case group[s.PID]:
			found[i].Proof = ByCgroup
		case carries(s.PID, tokenVariable(begun.Token)):
			found[i].Proof = ByToken
		case s.Session == begun.Supervisor.PID:
			found[i].Proof = BySession
		}
	}
	return append(found, looked(doubtful, "")...), nil
}

func has(found []Survivor, pid int) bool {
	for _, s := range found {
		if s.PID == pid {
			return true
		}
	}
	return false
}

// groupMembers returns the processes of an attempt's own cgroup. The name holds the token, so it is nobody else's.
func groupMembers(begun pawl.Begun) map[int]bool {
	members := map[int]bool{}
	if begun.Cgroup == "" || filepath.Base(begun.Cgroup) != cgroupName(begun.Token) {
		return members
	}
	procs, err := os.ReadFile(filepath.Join(begun.Cgroup, "cgroup.procs"))
	if err != nil {
		return members // it is gone with the last of them
	}
	for line := range bytes.Lines(procs) {
		if pid, err := strconv.Atoi(string(bytes.TrimSpace(line))); err == nil {
			members[pid] = true
		}
	}
	return members
}
