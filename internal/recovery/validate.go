package recovery

import (
	"fmt"
	"strings"
	"time"

	"pawl"
	"pawl/internal/oneline"
	"pawl/internal/shellwords"
)

const (
	staleAfter = 7 * 24 * time.Hour // a run without activity for longer gets a warning
	clockSkew  = 2 * time.Minute    // tolerated difference between clocks
	lowDiskMiB = 512                // free space in MiB below which work is likely to fail
)

// Validate turns facts into findings. A finding of level pawl.Bad makes it unsafe to resume without confirmation.
// Validate is pure.
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
	v.add(pawl.OK, "journal", "", "%d events verified", f.Events)
	for _, m := range f.Rejected {
		v.add(pawl.Warn, fmt.Sprintf("journal, event %d", m.Seq), "", "event rejected: %s", m.Why)
	}
	if f.Holder != "" {
		v.add(pawl.Bad, "engine", "pawl watch", "the project is locked: %s", f.Holder)
	}
}

func (v *validator) times() {
	f := v.facts
	switch age := f.Now.Sub(f.Last); {
	case age < -clockSkew:
		v.add(pawl.Warn, "clock", "", "the newest event is %s in the future; the clock was set back", (-age).Round(time.Second))
	case age > staleAfter:
		v.add(pawl.Warn, "age", "pawl archive "+string(f.Run), "no activity for %d days", int(age.Hours()/24))
	default:
		v.add(pawl.OK, "age", "", "last activity %s ago", max(0, age).Round(time.Second))
	}
}

func (v *validator) place() {
	for _, notice := range v.facts.Location {
		v.add(pawl.Warn, "project", "", "%s", notice)
	}
	if e := v.facts.Elsewhere; e != nil {
		v.elsewhere(e)
	}
}

// elsewhere compares this project with the one in which the newest engine worked. Whether an attempt still runs there cannot be seen.
func (v *validator) elsewhere(e *Elsewhere) {
	host := "host " + e.Host
	switch names := strings.Join(e.Attempts, ", "); {
	case len(e.Attempts) == 0:
	case e.Gone:
		v.add(pawl.Warn, host, "", "ran %s; that counts as crashed", names)
	default:
		v.add(pawl.Bad, host, e.Hint, "may still run %s; if you resume here, that counts as crashed", names)
	}
	level := pawl.Bad
	if e.Hint == "" {
		level = pawl.Warn // a person brought the run here, and said what its files are
	}
	switch {
	case e.Checkpoint == "":
	case e.Lost != "":
		v.add(level, "checkpoint "+string(e.Checkpoint), e.Hint, "saved on %s; %s", host, e.Lost)
	case e.Differ > 0:
		v.add(level, "files", e.Hint, "not those of checkpoint %s, saved on %s; paths that differ: %d", e.Checkpoint, host, e.Differ)
	default:
		v.add(pawl.OK, "files", "", "those of checkpoint %s, saved on %s", e.Checkpoint, host)
	}
}

// git compares HEAD now with HEAD at the newest checkpoint. A change that an interrupted attempt may have made is a
// warning. Any other change makes it unsafe to resume without confirmation.
func (v *validator) git() {
	g := v.facts.Git
	unsafe := pawl.Bad
	if len(v.facts.Attempts) > 0 {
		unsafe = pawl.Warn
	}
	switch {
	case g.Unavailable != "":
		v.add(pawl.Warn, "git", "", "git state unknown: %s", g.Unavailable)
		return
	case g.InProgress != "" && g.InProgress != g.InProgressThen:
		v.add(unsafe, "git", "git status", "a %s is in progress that was not in progress at the last checkpoint", g.InProgress)
	}
	switch {
	case g.CommitThen == "" && g.CommitNow == "":
	case g.BranchThen != g.BranchNow:
		v.add(unsafe, "git", "git switch "+strings.TrimPrefix(g.BranchThen, "refs/heads/"), "the branch changed: %s at the last checkpoint, %s now", named(g.BranchThen), named(g.BranchNow))
	case g.CommitThen == g.CommitNow:
		v.add(pawl.OK, "git", "", "HEAD unchanged since the last checkpoint: %.12s", g.CommitNow)
	case g.Rewritten:
		v.add(pawl.Warn, "git", "git reflog", "HEAD was rewritten: %.12s at the last checkpoint is not an ancestor of %.12s", g.CommitThen, g.CommitNow)
	default:
		v.add(pawl.OK, "git", "", "HEAD moved forward: %.12s at the last checkpoint, %.12s now", g.CommitThen, g.CommitNow)
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
		v.add(pawl.Bad, p.Path, "pawl plan check "+shellwords.Word(p.Path), "cannot read the plan: %s", p.Fault)
	case p.Gone:
		v.add(pawl.Warn, p.Path, "", "the plan file is missing; the run uses its own copy")
	case p.Edited && p.Reruns == 1:
		v.add(pawl.Warn, p.Path, "pawl why", "the plan was edited; 1 step would rerun")
	case p.Edited && p.Reruns > 0:
		v.add(pawl.Warn, p.Path, "pawl why", "the plan was edited; %d steps would rerun", p.Reruns)
	case p.Edited:
		v.add(pawl.OK, p.Path, "", "the plan was edited; no step would rerun because of that")
	default:
		v.add(pawl.OK, p.Path, "", "the plan is unchanged")
	}
}

// position reports needs that can never be met, and steps with more than one open attempt.
func (v *validator) position() {
	for _, id := range v.facts.Stuck {
		v.add(pawl.Bad, string(id), "pawl plan check", "needs a step that is not in the plan")
	}
	open := map[string]int{}
	for _, a := range v.facts.Attempts {
		open[a.Name()]++
	}
	for name, n := range open {
		if n > 1 {
			v.add(pawl.Bad, name, "pawl verify", "%d attempts are open; at most one is expected", n)
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
		v.add(pawl.OK, "attempts", "", "no interrupted attempts")
	}
}

// pathHint returns a command about the path of an output. A name that does not fit into a line gets one that lists all.
func pathHint(command string, c Claim) string {
	if oneline.Path(c.Path) != c.Path {
		return "pawl diff " + string(c.Step) + " --names"
	}
	return command + shellwords.Word(c.Path)
}

func (v *validator) claims() {
	counts := map[ClaimState]int{}
	for _, c := range v.facts.Claims {
		counts[c.State]++
		switch c.State {
		case ClaimMissing:
			v.add(pawl.Warn, c.Path, pathHint("pawl restore "+string(c.Step)+" ", c), "missing output of finished step %s", c.Step)
		case ClaimChanged:
			v.add(pawl.Warn, c.Path, pathHint("pawl diff "+string(c.Step)+" -- ", c), "output of finished step %s was edited since", c.Step)
		case ClaimUnseen:
			v.add(pawl.Warn, c.Path, "", "cannot check output of step %s: %s", c.Step, c.Why)
		}
	}
	if n := counts[ClaimHolds]; n > 0 || len(v.facts.Claims) == 0 {
		v.add(pawl.OK, "outputs", "", "%d unchanged", n)
	}
}

func (v *validator) commits() {
	for _, c := range v.facts.Commits {
		if !c.Reachable {
			v.add(pawl.Warn, string(c.Step), "git reflog", "commit %.12s of this step is in no branch", c.Commit)
		}
	}
}

func (v *validator) people() {
	if n := v.facts.Gates; n > 0 {
		v.add(pawl.Warn, "gates", "pawl gates", "%d open", n)
	}
	if n := v.facts.Blocked; n > 0 {
		v.add(pawl.Warn, "blockers", "pawl status", "%d open", n)
	}
}

func (v *validator) saved() {
	switch f := v.facts; {
	case f.Checkpoint == nil:
	case f.SnapshotLost != "" && f.Fallback != nil:
		v.add(pawl.Warn, "checkpoint "+string(f.Checkpoint.ID), "pawl checkpoints", "newest good checkpoint has no snapshot (%s); falling back to %s", f.SnapshotLost, f.Fallback.ID)
	case f.SnapshotLost != "":
		v.add(pawl.Warn, "checkpoint "+string(f.Checkpoint.ID), "pawl checkpoints", "newest good checkpoint has no snapshot: %s", f.SnapshotLost)
	default:
		v.add(pawl.OK, "checkpoint "+string(f.Checkpoint.ID), "", "newest good checkpoint is complete, saved %s%s", f.Checkpoint.Time.UTC().Format("2006-01-02 15:04:05 UTC"), beforeRestore(f.Checkpoint))
	}
}

func (v *validator) disk() {
	if d := v.facts.Disk; d.Size > 0 && d.Free < lowDiskMiB<<20 {
		v.add(pawl.Warn, "disk", "pawl prune", "nearly full: %d MiB free", d.Free>>20)
	}
}

func (v *validator) leftovers() {
	for _, line := range v.facts.Leftover {
		v.add(pawl.Warn, "process", "pawl processes --end", "orphan of a crashed attempt: %s", line)
	}
}

// beforeRestore says that a checkpoint has the files that a restore replaced.
func beforeRestore(c *pawl.Checkpoint) string {
	if c.Kind == pawl.CheckpointBeforeRestore {
		return " before a restore: it has the files that were replaced"
	}
	return ""
}
