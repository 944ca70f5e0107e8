package sessions

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/operations"
	"pawl/internal/project"
	"pawl/internal/runs"
	"pawl/internal/supervise/process"
)

// leftover is a process that a tool call in doubt may have left running.
type leftover struct {
	runs.Process
	sure   bool // it is the call's
	shared bool // another call claims it, too
}

// evidence is what is known of the process. The call's own command is not repeated.
func (l leftover) evidence(o *pawl.OperationState) operations.Process {
	text := l.BareString()
	if l.Command == "" || strings.Contains(plainCommand(l.Command), plainCommand(o.Summary)) {
		text = l.Unnamed()
	}
	return operations.Process{Text: text, Sure: l.sure, Shared: l.shared}
}

// orphanedProcesses returns processes that tool calls may have left running: those that are proven, and orphans that
// started in the project since the call. Those that calls with an outcome left are not among them.
func orphanedProcesses(p *project.Project, d runDoubts) map[pawl.OperationID][]leftover {
	table, err := process.Table()
	if err != nil {
		return nil
	}
	self := process.Ancestors(table, os.Getpid())
	for _, other := range d.left {
		if _, err := process.Find(other.Process); err == nil {
			self[other.PID] = true
			for _, below := range process.Below(table, other.PID) {
				self[below.PID] = true
			}
		}
	}
	owned := ownersOf(p, table, d, self)
	var of []pawl.OperationID
	var all []runs.Process
	for _, o := range d.inDoubt {
		if o.Kind != pawl.OperationCommand {
			continue
		}
		recent, possible, folder := startedWithin(o, self), 0, searchedFolder(p, o)
		for _, s := range table {
			switch {
			case slices.Contains(owned[s.PID].calls, o.ID):
			case len(owned[s.PID].calls) > 0 || possible >= maxPossible || !recent(s) || !orphan(table, s) || !hasWorkingDir(s.PID, folder):
				continue
			default:
				possible++
			}
			of, all = append(of, o.ID), append(all, processOf(s, o))
		}
	}
	runs.ObserveProcesses(p, all)
	found := map[pawl.OperationID][]leftover{}
	for i, x := range all {
		whose := owned[x.PID]
		sure := len(whose.calls) == 1 || whose.claim >= wholeCommand && whose.calls[0] == of[i]
		found[of[i]] = append(found[of[i]], leftover{Process: x, sure: sure && slices.Contains(whose.calls, of[i]), shared: len(whose.calls) > 1})
	}
	return found
}

// processOf describes a process that a tool call may have started.
func processOf(s process.Stat, o *pawl.OperationState) runs.Process {
	return runs.Process{
		PID: s.PID, Session: o.Session, Call: o.Tool + " " + o.Summary, Identity: s.Identity(),
		Command: runs.ClipText(process.Command(s.PID)), Seconds: s.Age().Seconds(),
	}
}

// owners are the tool calls that a process may belong to.
type owners struct {
	claim int                // how strong the claim of these is, see processClaims
	calls []pawl.OperationID // the last call announced before the process started comes first
}

// ownersOf returns the tool calls of proven processes and their descendants. If several calls claim a process, the strongest claim wins:
// shorter commands are part of the longest one. Calls that may still be running claim theirs, too.
func ownersOf(p *project.Project, table []process.Stat, d runDoubts, not map[int]bool) map[int]owners {
	found := map[int]owners{}
	for _, o := range slices.SortedFunc(slices.Values(slices.Concat(d.inDoubt, d.open)), func(a, b *pawl.OperationState) int { return b.Began.Compare(a.Began) }) {
		if o.Kind != pawl.OperationCommand {
			continue
		}
		for pid, claim := range processClaims(p, table, o, not, nil, d.agents[o.Session]) {
			whose := found[pid]
			switch {
			case claim > whose.claim:
				found[pid] = owners{claim: claim, calls: []pawl.OperationID{o.ID}}
			case claim == whose.claim:
				found[pid] = owners{claim: claim, calls: append(whose.calls, o.ID)}
			}
		}
	}
	return found
}

// Claims of a tool call to a process. Of two calls with the same whole command, the later one started the process. A part of the command
// proves less, because calls run at the same time.
const (
	sameSession  = 1 // the process has the session's id, or runs the command or a part of it in another folder of the project
	partInFolder = 2 // it runs a part of the command in the folder of that part
	wholeCommand = 4 // and more: the length of the command
)

// processClaims returns the processes of a tool call with the strength of its claim. A process matches if it runs the call's command,
// or one of its parts, because a shell may exec the last part, in a folder of the call; or if it has the session's id in its environment. A
// process that runs a part has lost its parent, or is a child of the agent, whose number is 0 if it has ended. Processes of below need not
// run in a folder of the call, or have lost their parent. Descendants match too.
func processClaims(p *project.Project, table []process.Stat, o *pawl.OperationState, not, below map[int]bool, agent int) map[int]int {
	recent, wanted, inFolder := startedWithin(o, not), plainCommand(o.Summary), worksFor(p, o)
	partly := strings.HasSuffix(o.Summary, "…") || strings.Contains(o.Summary, "[redacted:")
	parts := operations.Commands(o.Summary)
	claims := map[int]int{}
	for _, s := range table {
		if !recent(s) {
			continue
		}
		command := process.Command(s.PID)
		inPart := func(part string) bool {
			return matchesPart(command, part) && (below[s.PID] || (s.Parent == agent || fatherless(table, s)) && inFolder(s.PID, plainCommand(part)))
		}
		claim := 0
		switch at := slices.IndexFunc(parts, inPart); {
		case commandMatches(command, wanted, partly) && (below[s.PID] || inFolder(s.PID, wanted)):
			if claim = len(wanted); plainCommand(command) == wanted && runsElsewhere(p, o, command, process.Dir(s.PID)) {
				claim = sameSession
			}
		case at >= 0 && operations.RunsIn(o.Operation, p.Root, parts[at], process.Dir(s.PID), disk.Exists):
			claim = partInFolder
		case at >= 0, o.Asked.IsZero() && !o.Passed && ofSession(s.PID, o.Session):
			claim = sameSession
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

// runsElsewhere reports whether a process that runs the command of a tool call runs in another folder. So another call may have started it,
// whose command is longer.
func runsElsewhere(p *project.Project, o *pawl.OperationState, command, dir string) bool {
	return dir != "" && !operations.RunsIn(o.Operation, p.Root, command, dir, disk.Exists)
}

// startSlack is by how much a process may seem to start before its call was announced, because the process table has a
// resolution of 10 ms.
const startSlack = 20 * time.Millisecond

// maxPossible is how many unproven processes are listed.
const maxPossible = 4

// startedWithin matches processes that started after the tool call was announced and before another session became
// active.
func startedWithin(o *pawl.OperationState, not map[int]bool) func(process.Stat) bool {
	booted := process.Booted()
	return func(s process.Stat) bool {
		start := booted.Add(process.StartedAt(s.Start))
		return !s.Dead && !not[s.PID] && start.After(o.Began.Add(-startSlack)) && (o.Until.IsZero() || start.Before(o.Until))
	}
}

// distinctiveLength is the length, without spaces and quotes, from which a command is unlikely to match another by
// chance.
const distinctiveLength = 12

// worksFor returns a function that reports whether a process works in a folder of a tool call: in the searched one, or where one of the call's
// commands runs. If that is unknown, because a command changes to an unknown folder or the system does not reveal the folders of processes,
// the process's command, without spaces and quotes, must be distinctive.
func worksFor(p *project.Project, o *pawl.OperationState) func(pid int, command string) bool {
	folders, known := operations.Folders(o.Operation, p.Root)
	folders = append(folders, searchedFolder(p, o))
	known = known && process.Dir(os.Getpid()) != ""
	return func(pid int, command string) bool {
		return !known && len(command) >= distinctiveLength || slices.ContainsFunc(folders, func(dir string) bool { return hasWorkingDir(pid, dir) })
	}
}

// commandMatches reports whether a process's command line matches. partly says that wanted is only the start of the command.
func commandMatches(command, wanted string, partly bool) bool {
	text := plainCommand(command)
	return len(wanted) >= wholeCommand && (containsWhole(text, wanted) || partly && strings.Contains(text, wanted))
}

// containsWhole reports whether a text contains a command whose last word ends there.
func containsWhole(text, command string) bool {
	const more = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-"
	for rest := text; ; rest = rest[1:] {
		i := strings.Index(rest, command)
		if i < 0 {
			return false
		}
		if rest = rest[i:]; len(rest) == len(command) || !strings.Contains(more, rest[len(command):len(command)+1]) {
			return true
		}
	}
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

// fatherless reports whether a process has lost its parent. A daemon may be a session leader.
func fatherless(table []process.Stat, s process.Stat) bool { return s.Parent <= 1 || orphan(table, s) }

// distinctiveID is the length from which the id of a session cannot be the value of a variable by chance.
const distinctiveID = 16

// ofSession reports whether a process has the agent's own id of a session as the value of a variable, as some agents set it for their
// commands.
func ofSession(pid int, id pawl.SessionID) bool {
	native := id.Native()
	return len(native) >= distinctiveID && slices.ContainsFunc(process.Environ(pid), func(variable string) bool {
		_, value, _ := strings.Cut(variable, "=")
		return value == native
	})
}

// orphan reports whether a process has lost its parent and is not a session leader, which a user's shell would be.
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
