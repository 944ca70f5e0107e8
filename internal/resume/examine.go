package resume

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/disk"
	"pawl/internal/git"
	"pawl/internal/history"
	"pawl/internal/lazyregexp"
	"pawl/internal/outputs"
	"pawl/internal/project"
	"pawl/internal/recovery"
	"pawl/internal/runs"
	"pawl/internal/snapshot"
	"pawl/internal/snapshot/pack"
	"pawl/internal/supervise"
)

// Examination is the state of a run before it resumes, with a verdict on each interrupted attempt.
type Examination struct {
	Findings []pawl.Finding `json:"findings"`
	Verdicts []Judged       `json:"verdicts"` // on interrupted attempts
}

// Judged is the verdict on an attempt.
type Judged struct {
	Step    pawl.StepID   `json:"step"`
	Item    pawl.ItemID   `json:"item,omitempty"`
	Attempt int           `json:"attempt"`
	Case    recovery.Case `json:"case"`
	Verdict pawl.Verdict  `json:"verdict"`
	Why     string        `json:"-"` // how the attempt was found, for people

	Live     *pawl.AttemptState `json:"-"`
	Evidence Evidence           `json:"-"`
	Alive    bool               `json:"-"` // its supervisor runs
}

// Brief says what a resume does about the attempt, and by which rule.
func (j Judged) Brief() string {
	text := recovery.VerdictText(j.Verdict, j.Case.Attempt == recovery.Lost)
	if j.Verdict.Rule != "" {
		text += fmt.Sprintf(" (rule: %s)", j.Verdict.Rule)
	}
	return text
}

// Text says what Brief does, and why, in one line.
func (j Judged) Text() string {
	text := j.Brief()
	if len(j.Verdict.Reasons) > 0 {
		text += ": " + strings.Join(j.Verdict.Reasons, "; ")
	}
	return text
}

// Runs reports whether a resume runs the work, or lets it run on.
func (j Judged) Runs() bool { return j.Verdict.Word == pawl.Continue || j.Verdict.Word == pawl.Restart }

// Unsafe returns the findings that require confirmation before the run resumes.
func (x *Examination) Unsafe() []pawl.Finding {
	return slices.DeleteFunc(slices.Clone(x.Findings), func(f pawl.Finding) bool { return f.Level != pawl.Bad })
}

// Examine gathers facts, validates them, and judges interrupted attempts. It changes nothing and starts nothing. It
// does not run acceptance checks, which may improve a verdict later. gone says that the host of the newest engine is gone, so that what it
// ran has ended.
func Examine(ctx context.Context, p *project.Project, r *runs.Run, change *PlanDiff, cfg config.Snapshots, notices []string, gone bool) (*Examination, error) {
	facts, verdicts, err := gatherFacts(ctx, p, r, change, cfg)
	if err != nil {
		return nil, err
	}
	for i, live := range r.State.Live() {
		v := verdicts[i]
		facts.Attempts = append(facts.Attempts, recovery.AttemptFact{AttemptRef: live.AttemptRef, Case: v.Case, Why: v.Why, Since: live.Started})
	}
	facts.Location = notices
	if facts.Elsewhere != nil {
		facts.Elsewhere.Gone = gone
	}
	return &Examination{Findings: recovery.Validate(facts), Verdicts: verdicts}, nil
}

// gatherFacts collects the facts, and judges interrupted attempts. What cannot be checked becomes a fact that says so. The checks run
// concurrently.
func gatherFacts(ctx context.Context, p *project.Project, r *runs.Run, change *PlanDiff, cfg config.Snapshots) (f recovery.Facts, verdicts []Judged, err error) {
	s := r.State
	f = recovery.Facts{
		Now: time.Now().UTC(), Run: s.Run, Last: s.LastActive(), Events: int(s.Seq), Rejected: s.RejectedEvents,
		Gates: len(s.OpenGates()), Blocked: len(s.OpenBlockers()), Checkpoint: s.LastGood, Plan: planFact(change),
	}
	if holder, alive := p.EngineHolder(); alive {
		f.Holder = holder.String()
	}
	f.Disk = DiskFact(p.Root)
	var checks sync.WaitGroup
	checks.Go(func() {
		var record *snapshot.Record
		store := runs.SnapshotsOf(p, cfg)
		defer store.Close()
		record, f.SnapshotLost, f.Fallback = NewestSnapshot(ctx, p, s, store)
		f.Git = GitFacts(ctx, p, record)
	})
	checks.Go(func() { f.Commits = CommitClaims(ctx, p, s) })
	checks.Go(func() { f.Elsewhere = elsewhereFact(ctx, p, s, cfg) })
	checks.Go(func() {
		var err error
		if f.Leftover, err = runs.Leftovers(p, s.Run, s); err != nil {
			f.Leftover = []string{"cannot list orphaned processes: " + err.Error()}
		}
	})
	verdicts, err = Interrupted(p, r, change) // it reads the journal, as the next line does
	f.Claims = claimsOf(p, r, change)
	checks.Wait()
	return f, verdicts, err
}

func DiskFact(root string) recovery.DiskFact {
	var fs unix.Statfs_t
	if unix.Statfs(root, &fs) != nil {
		return recovery.DiskFact{}
	}
	return recovery.DiskFact{Free: fs.Bavail * uint64(fs.Bsize), Size: fs.Blocks * uint64(fs.Bsize)}
}

func planFact(c *PlanDiff) recovery.PlanFact {
	f := recovery.PlanFact{Path: c.From, Edited: c.Edited, Reruns: len(c.Rerun)}
	if c.From != "" && !c.Edited {
		_, err := os.Stat(c.From)
		f.Gone = errors.Is(err, os.ErrNotExist)
	}
	return f
}

// Interrupted judges every attempt whose end is not in the journal, in the order of State.Live. It changes nothing and runs no
// acceptance checks.
func Interrupted(p *project.Project, r *runs.Run, change *PlanDiff) ([]Judged, error) {
	verdicts := []Judged{}
	for _, live := range r.State.Live() {
		step := r.Plan.Step(live.Step)
		if step == nil {
			step = &pawl.Step{ID: live.Step}
		}
		ev, alive, err := ProbeAttempt(p, r, step, live)
		if err != nil {
			return nil, err
		}
		c := ev.Case(step)
		switch {
		case alive:
			c.Attempt = recovery.Live
		case ev.Away != "":
			c.Attempt = recovery.Away
		}
		c.SameStep = SameDefinition(change.plan, live, func(id pawl.StepID) ([]string, error) { return runs.ListedValues(r.Log, r.State.Steps[id].Items) })
		if now := change.plan.Step(live.Step); now != nil {
			c.Idempotent = now.MayRepeat() || ev.Serves
		}
		verdicts = append(verdicts, Judged{
			Step: live.Step, Item: live.Item, Attempt: live.Attempt, Case: c, Verdict: ev.Foresee(c), Why: attemptWhy(c, step, live, ev),
			Live: live, Evidence: ev, Alive: alive,
		})
	}
	return verdicts, nil
}

// ProbeAttempt gathers the evidence of an attempt without changing anything. alive reports whether its supervisor runs.
func ProbeAttempt(p *project.Project, r *runs.Run, step *pawl.Step, live *pawl.AttemptState) (ev Evidence, alive bool, err error) {
	dir := p.AttemptDir(live.AttemptRef, r.State.Run)
	status, err := supervise.Probe(dir)
	if err != nil {
		return ev, false, err
	}
	ev = Evidence{Now: time.Now(), Serves: supervise.ReadJob(dir).Serves()}
	ev.AddStatus(status.Under(live.Boot), live.Token, live.Seal)
	ev.AddHome(p, live.Home)
	ev.Away = ev.Rejoins(step, dir, live.Token, InputElsewhere(p, live.Home, live.Input))
	ev.Result, ev.ResultErr = runs.ReadResult(dir)
	w := runs.Work{Step: step, Index: -1}
	if st := r.State.Steps[live.Step]; live.Item != "" && st.Items != nil {
		if values, err := runs.ListedValues(r.Log, st.Items); err == nil && live.Index < len(values) {
			w.Index, w.Value = live.Index, values[live.Index]
		}
		if t := st.Items.Retries[live.Index]; t != nil {
			ev.Failures, ev.LostInARow = t.Failures, t.LostInARow
		}
	} else if st != nil {
		ev.Failures, ev.LostInARow = st.Retries.Failures, st.Retries.LostInARow
	}
	w.Vars = runs.PathVars(r.State.Origin(), w)
	declared := w.Paths(step.Outputs)
	ev.Present = CompareOutputs(declared, NonEmptyOutputs(p.Root, declared))
	if len(existingOutputs(p.Root, declared)) < len(declared) {
		ev.OutputsErr = errors.New("an output is missing")
	}
	return ev, status.State == supervise.Live, nil
}

func attemptWhy(c recovery.Case, step *pawl.Step, live *pawl.AttemptState, ev Evidence) string {
	ago := ev.Now.Sub(live.Started).Round(time.Second)
	switch c.Attempt {
	case recovery.Live:
		return fmt.Sprintf("running for %s", ago)
	case recovery.Away:
		return fmt.Sprintf("started %s ago, on queue %s; its supervisor here died", ago, step.On.Queue)
	case recovery.NotBegun:
		return fmt.Sprintf("never started (intended %s ago)", ago)
	case recovery.Lost:
		if ev.Elsewhere {
			return fmt.Sprintf("started %s ago in another project; how it ended is unknown here", ago)
		}
		return fmt.Sprintf("started %s ago, its supervisor died", ago)
	}
	return fmt.Sprintf("%s (started %s ago)", EndedText(ev.Exit), ago)
}

// claimsOf compares recorded outputs of finished steps with the files, using the results of the plan diff.
func claimsOf(p *project.Project, r *runs.Run, change *PlanDiff) []recovery.Claim {
	differs := map[string]bool{}
	for _, o := range change.OutputEdits {
		for _, path := range o.Paths {
			differs[string(o.Step)+"\x00"+path] = true
		}
	}
	var claims []recovery.Claim
	for _, step := range r.Plan.Steps() {
		st := r.State.Steps[step.ID]
		if !st.Finished() {
			continue
		}
		paths := st.Outputs
		if st.Items != nil {
			if items, err := runs.ItemOutputs(r, st.Items); err == nil { // the journal was verified before
				paths = items
			}
		}
		for path := range paths {
			c := recovery.Claim{Step: step.ID, Path: path, State: recovery.ClaimHolds}
			if differs[string(step.ID)+"\x00"+path] {
				c.State = recovery.ClaimChanged
				if !outputs.Exists(p.Root, path) {
					c.State = recovery.ClaimMissing
				}
			}
			claims = append(claims, c)
		}
	}
	slices.SortFunc(claims, func(a, b recovery.Claim) int { return strings.Compare(string(a.Step)+a.Path, string(b.Step)+b.Path) })
	return claims
}

// CommitClaims returns the commits that items recorded, and whether git can reach them.
func CommitClaims(ctx context.Context, p *project.Project, s *pawl.State) []recovery.CommitClaim {
	var claims []recovery.CommitClaim
	for id, st := range s.Steps {
		for _, item := range st.Named {
			if item.Commit != "" {
				claims = append(claims, recovery.CommitClaim{Step: id, Commit: item.Commit, Reachable: CommitReachable(ctx, p.Root, item.Commit)})
			}
		}
	}
	slices.SortFunc(claims, func(a, b recovery.CommitClaim) int {
		return strings.Compare(string(a.Step)+a.Commit, string(b.Step)+b.Commit)
	})
	return claims
}

var isCommit = lazyregexp.New("^[0-9a-fA-F]{4,64}$")

// CommitReachable reports whether HEAD, a branch or a tag contains the commit.
func CommitReachable(ctx context.Context, root, commit string) bool {
	if !isCommit.MatchString(commit) {
		return false
	}
	if _, err := git.Output(ctx, root, "merge-base", "--is-ancestor", commit, "HEAD"); err == nil {
		return true
	}
	out, err := git.Output(ctx, root, "for-each-ref", "--count=1", "--contains", commit)
	return err == nil && len(out) > 0
}

// NewestSnapshot returns the snapshot of the newest good checkpoint, nil for none. If the snapshot is lost, lost says
// why and instead is the newest good checkpoint that still has one.
func NewestSnapshot(ctx context.Context, p *project.Project, s *pawl.State, snapshots *runs.Snapshots) (record *snapshot.Record, lost string, instead *pawl.Checkpoint) {
	if s.LastGood == nil {
		return nil, "", nil
	}
	found, err := recordOf(ctx, p, snapshots, s.LastGood)
	if err == nil {
		return &found, "", nil
	}
	if s.LastGood.Unsaved() == "" {
		record, instead = recordBefore(ctx, p, s, snapshots)
	}
	return record, err.Error(), instead
}

// recordBefore returns the newest good checkpoint that still has a snapshot, nil for none.
func recordBefore(ctx context.Context, p *project.Project, s *pawl.State, snapshots *runs.Snapshots) (*snapshot.Record, *pawl.Checkpoint) {
	store, err := snapshots.Open(ctx)
	if err != nil {
		return nil, nil
	}
	all, err := history.Checkpoints(ctx, p, store, s.Run)
	if err != nil {
		return nil, nil
	}
	for _, c := range slices.Backward(all) {
		if c.Record != nil && !c.Kind.Interim() {
			return c.Record, &c.Checkpoint
		}
	}
	return nil, nil
}

// GitFacts compares HEAD now with HEAD when the snapshot was taken.
func GitFacts(ctx context.Context, p *project.Project, record *snapshot.Record) (g recovery.Git) {
	now, err := snapshot.HeadOf(ctx, p.Root)
	if err != nil {
		return recovery.Git{Unavailable: err.Error()}
	}
	if record == nil || record.Head == nil {
		return g
	}
	if now != nil {
		g.CommitNow, g.BranchNow, g.InProgress = now.Commit, now.Branch, now.InProgress
	}
	g.CommitThen, g.BranchThen, g.InProgressThen = record.Head.Commit, record.Head.Branch, record.Head.InProgress
	if g.CommitThen != "" && g.CommitThen != g.CommitNow {
		_, err := git.Output(ctx, p.Root, "merge-base", "--is-ancestor", g.CommitThen, "HEAD")
		g.Rewritten = err != nil
	}
	return g
}

// recordOf returns the commit record of a checkpoint. The error says why there is none.
func recordOf(ctx context.Context, p *project.Project, snapshots *runs.Snapshots, c *pawl.Checkpoint) (snapshot.Record, error) {
	if c.Snapshot == nil || c.Snapshot.Record == "" {
		return snapshot.Record{}, errors.New(cmp.Or(c.Unsaved(), "it was saved without files"))
	}
	if _, err := disk.Lstat(p.Snapshots()); err != nil {
		return snapshot.Record{}, err
	}
	store, err := snapshots.Open(ctx)
	if err != nil {
		return snapshot.Record{}, err
	}
	id, err := pack.ParseID(c.Snapshot.Record)
	if err != nil {
		return snapshot.Record{}, err
	}
	record, err := store.Record(id)
	if _, missing := errors.AsType[*pack.MissingError](err); missing {
		err = errors.New("the store does not have its snapshot")
	}
	return record, err
}
