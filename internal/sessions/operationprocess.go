package sessions

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/operations"
	"pawl/internal/project"
	"pawl/internal/runs"
	"pawl/internal/supervise/process"
)

// orphanedProcesses returns processes that tool calls may have left running: those that are proven, and orphans that
// started in the project since the call.
func orphanedProcesses(p *project.Project, doubts []*pawl.OperationState) map[pawl.OperationID][]operations.Process {
	table, err := process.Table()
	if err != nil {
		return nil
	}
	self := process.Ancestors(table, os.Getpid())
	owners := ownersOf(p, table, doubts, self)
	var of []pawl.OperationID
	var all []runs.Process
	for _, o := range doubts {
		if o.Kind != pawl.OperationCommand {
			continue
		}
		recent, possible := startedWithin(o, self), 0
		for _, s := range table {
			owned := len(owners[s.PID]) > 0
			switch {
			case owned && slices.Contains(owners[s.PID], o.ID):
			case owned || possible >= maxPossible || !recent(s) || !orphan(table, s) || !hasWorkingDir(s.PID, p.Root):
				continue
			default:
				possible++
			}
			of, all = append(of, o.ID), append(all, runs.Process{PID: s.PID, Command: runs.ClipText(process.Command(s.PID)), Seconds: s.Age().Seconds()})
		}
	}
	runs.ObserveProcesses(p, all)
	found := map[pawl.OperationID][]operations.Process{}
	for i, x := range all {
		whose := owners[x.PID]
		found[of[i]] = append(found[of[i]], operations.Process{Text: x.BareString(), Sure: len(whose) > 0 && whose[0] == of[i], Shared: len(whose) > 1})
	}
	return found
}

// ownersOf returns the tool calls of proven processes and their descendants. If several calls claim a process, the
// longest command wins, because the others are part of it. For equal commands the last call announced before the
// process started comes first.
func ownersOf(p *project.Project, table []process.Stat, doubts []*pawl.OperationState, not map[int]bool) map[int][]pawl.OperationID {
	strength := map[int]int{}
	owners := map[int][]pawl.OperationID{}
	for _, o := range slices.SortedFunc(slices.Values(doubts), func(a, b *pawl.OperationState) int { return b.Began.Compare(a.Began) }) {
		if o.Kind != pawl.OperationCommand {
			continue
		}
		for pid, claim := range processClaims(p, table, o, not) {
			switch {
			case claim > strength[pid]:
				owners[pid], strength[pid] = []pawl.OperationID{o.ID}, claim
			case claim == strength[pid]:
				owners[pid] = append(owners[pid], o.ID)
			}
		}
	}
	return owners
}

// processClaims returns the processes of a tool call with the length of the matching command. A process matches if it
// runs the call's command, or one of its parts, because a shell may exec the last part. Descendants match too.
func processClaims(p *project.Project, table []process.Stat, o *pawl.OperationState, not map[int]bool) map[int]int {
	recent, wanted := startedWithin(o, not), plainCommand(o.Summary)
	parts := operations.Commands(o.Summary)
	claims := map[int]int{}
	for _, s := range table {
		if !recent(s) {
			continue
		}
		claim, command := 0, process.Command(s.PID)
		switch {
		case commandMatches(s.PID, command, wanted, p.Root):
			claim = len(wanted)
		case slices.ContainsFunc(parts, func(part string) bool { return matchesPart(command, part) }) && orphan(table, s) && hasWorkingDir(s.PID, p.Root):
			claim = 1
		default:
			continue
		}
		for _, below := range process.Closure(table, func(x process.Stat) bool { return x.PID == s.PID }) {
			if recent(below) {
				claims[below.PID] = max(claims[below.PID], claim)
			}
		}
	}
	return claims
}

// startSlack is by how much a process may seem to start before its call was announced, because the process table has a
// resolution of 10 ms.
const startSlack = 20 * time.Millisecond

// maxPossible is how many unproven processes are listed.
const maxPossible = 4

// startedWithin matches processes that started after the tool call was announced and before another session became
// active.
func startedWithin(o *pawl.OperationState, not map[int]bool) func(process.Stat) bool {
	booted := time.Now().Add(-process.Uptime() - process.Asleep())
	return func(s process.Stat) bool {
		start := booted.Add(process.StartedAt(s.Start))
		return !s.Dead && !not[s.PID] && start.After(o.Began.Add(-startSlack)) && (o.Until.IsZero() || start.Before(o.Until))
	}
}

// distinctiveLength is the length, without spaces and quotes, from which a command is unlikely to match another by
// chance.
const distinctiveLength = 12

// commandMatches reports whether a process's command line matches. A short command must also run in the project.
func commandMatches(pid int, command, wanted, root string) bool {
	if len(wanted) < 4 || !strings.Contains(plainCommand(command), wanted) {
		return false
	}
	return len(wanted) >= distinctiveLength || hasWorkingDir(pid, root)
}

// matchesPart reports whether a command line is part of a script: the same words, possibly with the program's full path
// and after an interpreter.
func matchesPart(line, part string) bool {
	before, is := strings.CutSuffix(line, part)
	return is && len(part) >= 4 && (before == "" || strings.HasSuffix(before, "/") || strings.HasSuffix(before, " "))
}

// plainCommand removes quoting from a command, and what was cut for length or redacted.
func plainCommand(text string) string {
	text = strings.TrimSuffix(text, "…")
	text, _, _ = strings.Cut(text, "[redacted:")
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(" \t\n\r'\"\\", r) {
			return -1
		}
		return r
	}, text)
}

// orphan reports whether a process has lost its parent and is no session leader, which a user's shell would be.
func orphan(table []process.Stat, s process.Stat) bool {
	if s.PID == s.Session {
		return false
	}
	for _, other := range table {
		if other.PID == s.Parent {
			return s.Parent <= 1 || other.Session != s.Session && other.Parent <= 1
		}
	}
	return true
}

// hasWorkingDir reports whether a process runs in a folder or below.
func hasWorkingDir(pid int, root string) bool {
	dir := process.Dir(pid)
	rel, err := filepath.Rel(root, dir)
	return dir != "" && err == nil && filepath.IsLocal(rel)
}
