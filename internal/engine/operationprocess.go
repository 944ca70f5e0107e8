package engine

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"pawl"
	"pawl/internal/ledger"
	"pawl/internal/project"
	"pawl/internal/supervise"
	"pawl/internal/supervise/process"
)

// leftByAgents returns the processes that operations in doubt may have left running.
func leftByAgents(p *project.Project, doubts []*pawl.OperationState) map[pawl.OperationID][]ledger.Process {
	table, err := process.Table()
	if err != nil {
		return nil
	}
	not := process.Ancestors(table, os.Getpid())
	var of []pawl.OperationID
	var all []Process
	for _, find := range []func(*project.Project, []process.Stat, *pawl.OperationState, map[int]bool) []Process{provenRemains, possibleRemains} {
		for _, o := range doubts {
			if o.Kind != pawl.OperationCommand {
				continue
			}
			for _, x := range find(p, table, o, not) {
				of, all = append(of, o.ID), append(all, x)
			}
		}
		for _, x := range all { // what is proven to be of one operation is not of another
			not[x.PID] = true
		}
	}
	watch(p, all)
	found := map[pawl.OperationID][]ledger.Process{}
	for i, x := range all {
		found[of[i]] = append(found[of[i]], ledger.Process{Text: x.bareString(), Sure: x.Proof != ""})
	}
	return found
}

// startSlack is by how much the start of a process may seem to be before the intent that it follows: the process table
// counts in hundredths of a second.
const startSlack = 20 * time.Millisecond

// provenRemains returns the processes that run an operation's command, and those that they have started.
func provenRemains(p *project.Project, table []process.Stat, o *pawl.OperationState, not map[int]bool) (found []Process) {
	recent, wanted := startedWithin(o, not), plainCommand(o.Summary)
	for _, s := range process.Closure(table, func(s process.Stat) bool { return recent(s) && runs(s.PID, wanted, p.Root) }) {
		if recent(s) {
			found = append(found, remains(s, supervise.ByCommand))
		}
	}
	return found
}

// mostPossible is how many processes are named that may be an operation's.
const mostPossible = 4

// possibleRemains returns processes that were started in the project since an operation was meant, and whose parent is gone.
func possibleRemains(p *project.Project, table []process.Stat, o *pawl.OperationState, not map[int]bool) (found []Process) {
	recent := startedWithin(o, not)
	for _, s := range table {
		if len(found) < mostPossible && recent(s) && orphan(table, s) && worksIn(s.PID, p.Root) {
			found = append(found, remains(s, ""))
		}
	}
	return found
}

func remains(s process.Stat, proof supervise.Proof) Process {
	return Process{PID: s.PID, Proof: proof, Command: clip(process.Command(s.PID)), Seconds: s.Age().Seconds()}
}

// startedWithin reports whether a process was started since an operation was meant, and before another session went to work.
func startedWithin(o *pawl.OperationState, not map[int]bool) func(process.Stat) bool {
	booted := time.Now().Add(-process.Uptime() - process.Asleep())
	return func(s process.Stat) bool {
		start := booted.Add(process.StartedAt(s.Start))
		return !s.Dead && !not[s.PID] && start.After(o.Began.Add(-startSlack)) && (o.Until.IsZero() || start.Before(o.Until))
	}
}

// telling is how long a command is, without spaces and quotes, that is not to be found on other command lines by chance.
const telling = 12

// runs reports whether a process has a command on its command line. A short one must also work in the project.
func runs(pid int, wanted, root string) bool {
	if len(wanted) < 4 || !strings.Contains(plainCommand(process.Command(pid)), wanted) {
		return false
	}
	return len(wanted) >= telling || worksIn(pid, root)
}

// plainCommand leaves out of a command what differs by how it was quoted, and what was left out of it for its length or as
// a secret.
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

// orphan reports whether the process that started this one is gone, and this one leads no session of its own, as a shell
// does that a person has opened.
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

// worksIn reports whether a process works in a folder.
func worksIn(pid int, root string) bool {
	dir := process.Dir(pid)
	rel, err := filepath.Rel(root, dir)
	return dir != "" && err == nil && filepath.IsLocal(rel)
}
