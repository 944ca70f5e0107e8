package supervise

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"

	"pawl"
	"pawl/internal/supervise/process"
)

// A Survivor is a running process that an attempt started.
type Survivor struct {
	process.Stat
	Proof Proof
}

// Proof is the evidence that a process belongs to an attempt.
type Proof string

// Kinds of proof. A process without proof may belong to the attempt, and is never killed.
const (
	ByCgroup     Proof = "cgroup"     // in the attempt's cgroup
	ByToken      Proof = "token"      // started with the attempt's token in its environment
	BySession    Proof = "session"    // in the session of the attempt's supervisor
	ByDescent    Proof = "descent"    // started by a process with proof
	BySupervisor Proof = "supervisor" // supervised: the supervisor is alive
	ByIdentity   Proof = "identity"   // of an agent's tool call: its command and the time of its start match, or its identity was recorded
)

// Survivors returns the processes of an attempt that Sweep would find, without killing any. If the supervisor is alive,
// these are all processes that it supervises.
func Survivors(dir string, table []process.Stat) ([]Survivor, error) {
	status, err := Probe(dir)
	switch {
	case err != nil:
		return nil, fmt.Errorf("find processes: %w", err)
	case status.Begun == nil || !isRecordOf(dir, status.Begun) || !process.SameBoot(status.Begun.Supervisor):
		return nil, nil
	}
	if _, err := process.Find(status.Begun.Supervisor); errors.Is(err, process.ErrOtherNamespace) {
		return nil, fmt.Errorf("find processes of the attempt: %w", err)
	}
	if status.State == Live {
		return survivorsOf(process.Below(table, status.Begun.Supervisor.PID), BySupervisor), nil
	}
	return leftBehind(dir, table, *status.Begun)
}

func survivorsOf(stats []process.Stat, proof Proof) []Survivor {
	found := make([]Survivor, len(stats))
	for i, s := range stats {
		found[i] = Survivor{Stat: s, Proof: proof}
	}
	return found
}

// leftBehind returns the processes that a lost attempt left running, each with its best proof.
func leftBehind(dir string, table []process.Stat, begun pawl.Begun) ([]Survivor, error) {
	beat, err := lastBeat(dir, begun.Token)
	if err != nil {
		return nil, err
	}
	group := groupMembers(begun)
	carries := func(pid int, variable string) bool { return process.HasVariable(pid, variable) }
	ours, doubtful := victims(table, begun, beat, os.Getpid(), carries)
	found := survivorsOf(ours, ByDescent)
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
	return append(found, survivorsOf(doubtful, "")...), nil
}

func has(found []Survivor, pid int) bool {
	for _, s := range found {
		if s.PID == pid {
			return true
		}
	}
	return false
}

// groupMembers returns the processes in an attempt's cgroup. The group's name contains the token, so it belongs to no
// other attempt.
func groupMembers(begun pawl.Begun) map[int]bool {
	members := map[int]bool{}
	for line := range bytes.Lines(groupProcesses(&begun)) {
		if pid, err := strconv.Atoi(string(bytes.TrimSpace(line))); err == nil {
			members[pid] = true
		}
	}
	return members
}
