package recovery

import (
	"fmt"
	"strings"
	"time"

	"pawl"
)

const (
	staleAfter = 7 * 24 * time.Hour // after which a run may not be what its files are about any more
	clockSkew  = 2 * time.Minute    // clocks that differ by less are not worth a word
	lowDiskMiB = 512                // MiB of free space below which work is likely to fail
)

// Validate says what the facts mean. A bad finding is one with which it is unsafe to go on unasked. It never looks at the
// world.
func Validate(f Facts) []pawl.Finding {
	v := validator{facts: f}
	for _, check := range []func(){
		v.journal, v.times, v.place, v.git, v.plan, v.position, v.attempts, v.claims, v.commits, v.people, v.saved, v.disk, v.leftovers,
	} {
		check()
	}
	return v.found
}

type validator struct {
	facts Facts
	found []pawl.Finding
}

func (v *validator) add(level pawl.Level, where, hint, format string, args ...any) {
	v.found = append(v.found, pawl.Finding{Level: level, Where: where, Hint: hint, What: fmt.Sprintf(format, args...)})
}

func (v *validator) journal() {
	f := v.facts
	v.add(pawl.OK, "journal", "", "all %d events are as they were written", f.Events)
	for _, m := range f.Rejected {
		v.add(pawl.Warn, fmt.Sprintf("journal, event %d", m.Seq), "", "it did not fit when it came: %s", m.Why)
	}
	if f.Holder != "" {
		v.add(pawl.Bad, "engine", "pawl watch", "somebody is at work: %s", f.Holder)
	}
}

func (v *validator) times() {
	f := v.facts
	switch age := f.Now.Sub(f.Last); {
	case age < -clockSkew:
		v.add(pawl.Warn, "clock", "", "the newest event is %s in the future: a clock was set back", (-age).Round(time.Second))
	case age > staleAfter:
		v.add(pawl.Warn, "age", "pawl archive "+string(f.Run), "nothing happened for %d days", int(age.Hours()/24))
	default:
		v.add(pawl.OK, "age", "", "last activity %s ago", max(0, age).Round(time.Second))
	}
}

func (v *validator) place() {
	for _, notice := range v.facts.Location {
		v.add(pawl.Warn, "project", "", "%s", notice)
	}
}

// git compares where git stands with where it stood. What an attempt in doubt may have done itself is only noted; what
// somebody else did is unsafe to go on with unasked.
func (v *validator) git() {
	g := v.facts.Git
	unsafe := pawl.Bad
	if len(v.facts.Attempts) > 0 {
		unsafe = pawl.Warn
	}
	switch {
	case g.Unavailable != "":
		v.add(pawl.Warn, "git", "", "where git stands is not known: %s", g.Unavailable)
		return
	case g.InProgress != "" && g.InProgress != g.InProgressThen:
		v.add(unsafe, "git", "git status", "a %s is in progress, and was not at the last checkpoint", g.InProgress)
	}
	switch {
	case g.CommitThen == "" && g.CommitNow == "":
	case g.BranchThen != g.BranchNow:
		v.add(unsafe, "git", "git switch "+strings.TrimPrefix(g.BranchThen, "refs/heads/"), "another branch is checked out: %s then, %s now", named(g.BranchThen), named(g.BranchNow))
	case g.CommitThen == g.CommitNow:
		v.add(pawl.OK, "git", "", "HEAD stands where it stood at the last checkpoint: %.12s", g.CommitNow)
	case g.Rewritten:
		v.add(pawl.Warn, "git", "git reflog", "HEAD moved, and no longer contains where it was: %.12s then, %.12s now", g.CommitThen, g.CommitNow)
	default:
		v.add(pawl.OK, "git", "", "HEAD moved on: %.12s then, %.12s now", g.CommitThen, g.CommitNow)
	}
}

func named(branch string) string {
	if branch == "" {
		return "(detached)"
	}
	return strings.TrimPrefix(branch, "refs/heads/")
}

func (v *validator) plan() {
	p := v.facts.Plan
	switch {
	case p.Path == "":
	case p.Fault != "":
		v.add(pawl.Bad, p.Path, "pawl plan check "+p.Path, "the plan cannot be read: %s", p.Fault)
	case p.Gone:
		v.add(pawl.Warn, p.Path, "", "the plan is gone; the run goes on with the one that it has")
	case p.Edited && p.Reruns > 0:
		v.add(pawl.Warn, p.Path, "pawl why", "the plan was edited: %d finished steps would run again", p.Reruns)
	case p.Edited:
		v.add(pawl.OK, p.Path, "", "the plan was edited; nothing that is finished depends on it")
	default:
		v.add(pawl.OK, p.Path, "", "the plan is unchanged")
	}
}

// position finds what makes the end unreachable, and more than one interruption of a step.
func (v *validator) position() {
	for _, id := range v.facts.Stuck {
		v.add(pawl.Bad, string(id), "pawl plan check", "it needs a step that is not in the plan")
	}
	open := map[string]int{}
	for _, a := range v.facts.Attempts {
		open[a.Name()]++
	}
	for name, n := range open {
		if n > 1 {
			v.add(pawl.Bad, name, "pawl verify", "%d attempts are open at once", n)
		}
	}
}

func (v *validator) attempts() {
	for _, a := range v.facts.Attempts {
		level := pawl.Warn
		if a.Case.Attempt == Live {
			level = pawl.OK
		}
		v.add(level, fmt.Sprintf("%s, attempt %d", a.Name(), a.Attempt), "", "%s", a.Why)
	}
	if len(v.facts.Attempts) == 0 {
		v.add(pawl.OK, "attempts", "", "none is in doubt")
	}
}

func (v *validator) claims() {
	counts := map[ClaimState]int{}
	for _, c := range v.facts.Claims {
		counts[c.State]++
		switch c.State {
		case ClaimMissing:
			v.add(pawl.Warn, c.Path, "pawl restore "+string(c.Step)+" "+c.Path, "step %s is finished, and what it made is missing", c.Step)
		case ClaimChanged:
			v.add(pawl.Warn, c.Path, "pawl diff "+string(c.Step)+" -- "+c.Path, "step %s is finished, and what it made was changed from outside", c.Step)
		case ClaimUnseen:
			v.add(pawl.Warn, c.Path, "", "what step %s made could not be looked at: %s", c.Step, c.Why)
		}
	}
	if n := counts[ClaimHolds]; n > 0 || len(v.facts.Claims) == 0 {
		v.add(pawl.OK, "outputs", "", "as recorded: %d", n)
	}
}

func (v *validator) commits() {
	for _, c := range v.facts.Commits {
		if !c.Reachable {
			v.add(pawl.Warn, string(c.Step), "git reflog", "it says that it made commit %.12s, which is in no branch", c.Commit)
		}
	}
}

func (v *validator) people() {
	if n := v.facts.Gates; n > 0 {
		v.add(pawl.Warn, "gates", "pawl gates", "a person is asked: %d", n)
	}
	if n := v.facts.Blocked; n > 0 {
		v.add(pawl.Warn, "blockers", "pawl status", "open: %d", n)
	}
}

func (v *validator) saved() {
	switch f := v.facts; {
	case f.Checkpoint == nil:
	case f.SnapshotLost != "" && f.Fallback != nil:
		v.add(pawl.Warn, "checkpoint "+string(f.Checkpoint.ID), "pawl checkpoints", "the newest good one has no snapshot: %s; the one before it is %s", f.SnapshotLost, f.Fallback.ID)
	case f.SnapshotLost != "":
		v.add(pawl.Warn, "checkpoint "+string(f.Checkpoint.ID), "pawl checkpoints", "the newest good one has no snapshot: %s", f.SnapshotLost)
	default:
		v.add(pawl.OK, "checkpoint "+string(f.Checkpoint.ID), "", "the newest good one is whole, of %s", f.Checkpoint.Time.UTC().Format("2006-01-02 15:04:05 UTC"))
	}
}

func (v *validator) disk() {
	if d := v.facts.Disk; d.Size > 0 && d.Free < lowDiskMiB<<20 {
		v.add(pawl.Warn, "disk", "pawl prune", "nearly full: %d MiB are free", d.Free>>20)
	}
}

func (v *validator) leftovers() {
	for _, line := range v.facts.Leftover {
		v.add(pawl.Warn, "process", "pawl processes --end", "left running by a dead attempt: %s", line)
	}
}
