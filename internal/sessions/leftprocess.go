package sessions

import (
	"os"
	"slices"
	"time"

	"pawl"
	"pawl/internal/brief"
	"pawl/internal/project"
	"pawl/internal/runs"
	"pawl/internal/supervise"
	"pawl/internal/supervise/process"
)

// LeftBy returns the processes that a tool call started and that are running, at most pawl.MaxLeft. o.Began says since when; agent is the
// agent's process. Processes that only may be the call's are left out.
func LeftBy(p *project.Project, o *pawl.OperationState, agent *pawl.Process) []pawl.Process {
	table, err := process.Table()
	if err != nil {
		return nil
	}
	below := map[int]bool{}
	if agent != nil {
		for _, s := range process.Below(table, agent.PID) {
			below[s.PID] = true
		}
	}
	claims := processClaims(p, table, o, process.Ancestors(table, os.Getpid()), below, 0)
	var found []pawl.Process
	for _, s := range table {
		if claims[s.PID] > 0 && len(found) < pawl.MaxLeft {
			found = append(found, s.Identity())
		}
	}
	return found
}

// running returns the processes that finished tool calls left running and that are alive.
func running(s *pawl.State) []brief.Running {
	var found []brief.Running
	booted := process.Booted()
	for _, l := range s.Left {
		if stat, err := process.Find(l.Process); err == nil {
			found = append(found, brief.Running{LeftProcess: l, Since: booted.Add(process.StartedAt(stat.Start))})
		}
	}
	return found
}

// Processes returns the running processes of agents' tool calls: those that finished calls left, and those of calls in doubt.
func Processes(p *project.Project, s *pawl.State) []runs.Process {
	var found []runs.Process
	known := map[int]bool{}
	for _, r := range running(s) {
		known[r.PID] = true
		found = append(found, runs.Process{
			PID: r.PID, Session: r.Session, Call: r.Tool + " " + r.Summary, Identity: r.Process, Proof: supervise.ByIdentity,
			Command: runs.ClipText(process.Command(r.PID)), Seconds: time.Since(r.Since).Seconds(),
		})
	}
	runs.ObserveProcesses(p, found)
	for _, left := range orphanedProcesses(p, doubtsOf(s)) {
		for _, l := range left {
			if l.sure && !l.shared {
				l.Proof = supervise.ByIdentity
			}
			if !known[l.PID] {
				found = append(found, l.Process)
			}
			known[l.PID] = true
		}
	}
	slices.SortFunc(found, func(a, b runs.Process) int { return a.PID - b.PID })
	return found
}
