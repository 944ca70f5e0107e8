package sessions

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/brief"
	"pawl/internal/config"
	"pawl/internal/disk"
	"pawl/internal/history"
	"pawl/internal/project"
	"pawl/internal/recovery"
	"pawl/internal/redact"
	"pawl/internal/resume"
	"pawl/internal/runs"
	"pawl/internal/snapshot"
)

// Briefing says who a brief is for, and passes in what the caller already knows.
type Briefing struct {
	brief.Options
	Since   string           // checkpoint to report changes from. Defaults to the run's newest good one.
	Attempt *pawl.AttemptRef // the attempt that asks. Defaults to none.

	// Load loads the run, nil if there is none; Brief closes its journal. Defaults to loading the run that is named.
	Load func(context.Context) (*runs.Run, error)

	Snapshots config.Snapshots
	Timeout   time.Duration // limit for comparing files, and for hashing them. Defaults to 2s each.

	Findings []pawl.Finding              // additional findings
	Verdicts map[pawl.Token]pawl.Verdict // known verdicts; other attempts are judged here

	Session    pawl.SessionID        // the session that reads the brief. Defaults to none.
	After      pawl.Seq              // report only news after this event. Defaults to a full brief.
	Operations []ReconciledOperation // reconciled tool calls. Defaults to reconciling them here.
}

// Brief checks the state of a run and returns a brief of it. Without a run it says that nothing has run yet. It changes
// nothing and does not disturb a running engine.
func Brief(ctx context.Context, p *project.Project, run pawl.RunID, b Briefing) (brief.Brief, error) {
	if b.Timeout == 0 {
		b.Timeout = 2 * time.Second
	}
	if b.Redact == nil {
		b.Redact = redact.New(os.Environ()).Text
	}
	g := &briefer{project: p, Briefing: b}
	g.facts = brief.Facts{Now: time.Now().UTC(), Inside: b.Attempt, Findings: b.Findings}
	if run == "" && b.Load == nil {
		g.memories(ctx)
		return brief.Make(g.facts, b.Options), nil
	}
	defer g.begin(ctx)()
	if err := g.look(ctx, run); err != nil {
		return brief.Brief{}, err
	}
	return brief.Make(g.facts, b.Options), nil
}

// look gathers the facts about a run, or about a project without runs.
func (g *briefer) look(ctx context.Context, run pawl.RunID) error {
	g.memories(ctx)
	r, err := g.load(ctx, run)
	if r == nil || err != nil {
		return err
	}
	known, remember := runs.Recall(g.project, r, "brief", &g.known)
	if known == runs.Earlier && g.known.Work != workOf(r.State) {
		g.known = fromJournal{}
	}
	g.run, g.facts.State, g.facts.Plan = r, r.State, r.Plan
	g.worktree()
	if g.facts.Elsewhere, err = runs.Elsewhere(g.project, r.State.Run); err != nil {
		return errors.Join(err, r.Log.Close())
	}
	g.facts.Accept = "pawl adopt " + string(r.State.Run)
	if !g.project.Trust.Trusted() {
		g.facts.Accept = "pawl trust"
	}
	if err := errors.Join(g.gather(ctx), r.Log.Close()); err != nil {
		return err
	}
	if g.learned {
		g.known.Work = workOf(r.State)
		remember(&g.known)
	}
	return nil
}

// briefer gathers the facts of a brief. What it cannot find out becomes part of the brief; it returns an error only for
// invalid requests and when ctx ends.
type briefer struct {
	Briefing
	project   *project.Project
	run       *runs.Run
	facts     brief.Facts
	snapshots *runs.Snapshots
	workspace *workspace
	records   []snapshot.Record // snapshots of this run, oldest first
	known     fromJournal       // empty at first, if the work has changed since the last brief
	learned   bool              // known has changed
}

func (g *briefer) gather(ctx context.Context) error {
	if holder, alive := g.project.EngineHolder(); alive && holder.WorksOn(g.run.State) {
		g.facts.Engine = &brief.Engine{PID: holder.PID, Since: holder.Since}
	}
	g.validate(ctx)
	g.plan()
	g.left()
	if err := g.files(ctx); err != nil {
		return err
	}
	g.attempts()
	g.watchdogKills()
	g.sessions(ctx)
	return ctx.Err()
}

// sessions adds the sessions that worked on the run, and their tool calls without an outcome.
func (g *briefer) sessions(ctx context.Context) {
	g.facts.Sessions, g.facts.DroppedSessions = sessionsOf(ctx, g.project, g.run.State, g.Session), g.run.State.Dropped
	g.facts.Running = running(g.run.State)
	doubts := g.Operations
	if doubts == nil {
		others, err := otherRunsInDoubt(ctx, g.project, g.run.State.Run)
		if err != nil {
			g.unchecked("tool calls in doubt in other runs: %v", err)
		}
		g.facts.Findings = append(g.facts.Findings, unreadableFindings(others)...)
		doubts = reconcileAll(ctx, g.project, doubtsOf(g.run.State).settled(ctx, g.run.State), others)
	}
	for _, d := range doubts {
		g.facts.Operations = append(g.facts.Operations, brief.Operation{OperationState: d.OperationState, Run: d.Run, Verdict: d.Verdict, Evidence: d.Evidence, Runs: d.Runs, Traces: d.Traces})
	}
	if g.After > 0 {
		g.facts.News = g.recentEvents(g.After)
	}
}

func (g *briefer) warn(where, hint, format string, args ...any) {
	g.facts.Findings = append(g.facts.Findings, pawl.Finding{Level: pawl.Warn, Where: where, Hint: hint, What: fmt.Sprintf(format, args...)})
}

func (g *briefer) unchecked(format string, args ...any) {
	g.facts.Unchecked = append(g.facts.Unchecked, fmt.Sprintf(format, args...))
}

func (g *briefer) memories(ctx context.Context) {
	remembered, err := g.project.Memories()
	if err != nil {
		g.unchecked("MEMORY.md: %v", err)
	}
	g.project.FindSources(ctx, remembered)
	for _, m := range remembered {
		g.facts.Memories = append(g.facts.Memories, brief.Memory{Memory: m.Memory, Unverified: m.Unverified, Source: m.Source})
	}
}

// validate adds the findings of recovery.Validate. Attempts, outputs, plan, gates and blockers have their own sections,
// so their findings are left out.
func (g *briefer) validate(ctx context.Context) {
	s := g.run.State
	f := recovery.Facts{
		Now: g.facts.Now, Run: s.Run, Last: s.Updated, Events: int(s.Seq), Rejected: s.RejectedEvents, Checkpoint: s.LastGood,
		Commits: resume.CommitClaims(ctx, g.project, s), Disk: resume.DiskFact(g.project.Root),
	}
	var record *snapshot.Record
	record, f.SnapshotLost, f.Fallback = resume.NewestSnapshot(ctx, g.project, s, g.snapshots)
	f.Git = resume.GitFacts(ctx, g.project, record)
	for _, found := range recovery.Validate(f) {
		if found.Level != pawl.OK {
			g.facts.Findings = append(g.facts.Findings, found)
		}
	}
	if len(s.UnknownTypes) > 0 {
		g.warn("", "", "a newer pawl wrote events that this version does not know: %v", s.UnknownTypes)
	}
}

// plan compares the run's plan with the user's plan file.
func (g *briefer) plan() {
	s := g.run.State
	user, err := runs.ReadUserPlan(g.project, s)
	switch {
	case err != nil:
		g.unchecked("whether the plan was edited: %v", err)
	case user.Path == "" || s.Ended():
	case user.Missing:
		g.warn(s.Plan.Source, "", "the plan file is missing; the run uses its own copy")
	case user.Edited:
		g.warn(s.Plan.Source, "pawl why", "the plan was edited since; this brief shows the plan as run")
	}
}

// maxLeft is how many unfinished items are listed.
const maxLeft = 10

// left lists the unfinished items of each foreach step.
func (g *briefer) left() {
	before := len(g.facts.Unchecked)
	if g.facts.Left = g.known.Left; g.facts.Left != nil {
		return
	}
	g.facts.Left = map[pawl.StepID]brief.Left{}
	defer func() {
		if len(g.facts.Unchecked) == before {
			g.known.Left, g.learned = g.facts.Left, true
		}
	}()
	for id, st := range g.run.State.Steps {
		if st.Items == nil || st.Finished() {
			continue
		}
		values, err := runs.ListedValues(g.run.Log, st.Items)
		if err != nil {
			g.unchecked("item list of step %s: %v", id, err)
			continue
		}
		left := brief.Left{Count: st.Items.Left()}
		for index, value := range values {
			_, failed := st.Items.Failed[index]
			_, skipped := st.Items.Skipped[index]
			if !failed && !skipped && st.Items.Done.At(index) == 0 && len(left.First) < maxLeft {
				left.First = append(left.First, value)
			}
		}
		g.facts.Left[id] = left
	}
}

// files compares the workspace with the newest good checkpoint, and uses that to verify the outputs of finished work.
func (g *briefer) files(ctx context.Context) error {
	pr := &prover{root: g.project.Root, run: g.run, budget: resume.MaxHashed}
	if err := g.compare(ctx, pr); err != nil {
		return err
	}
	g.git(ctx)
	pr.until = time.Now().Add(g.Timeout)
	g.prove(pr)
	g.gates(pr)
	return nil
}

// compare finds the changes since the reader's checkpoint, and gives the prover those since the newest good one.
func (g *briefer) compare(ctx context.Context, pr *prover) error {
	w := g.workspace.wait()
	if w.records == nil && w.err != nil {
		g.unchecked("which files changed: %v", w.err)
		return nil
	}
	good := ""
	if c := g.run.State.LastGood; c != nil && c.Snapshot != nil {
		good = c.Snapshot.Record // of the original run, if a forked run has none of its own yet
	}
	for _, r := range w.records {
		if r.Run == g.run.State.Run || r.ID.String() == good {
			g.records = append(g.records, r)
		}
	}
	base := g.base()
	if g.Since != "" {
		known, err := history.FindCheckpoint(ctx, g.project, w.store, g.Since)
		if err != nil {
			return err
		}
		record, err := known.SnapshotRecord()
		if err != nil {
			return err
		}
		g.since(ctx, record, known.Checkpoint)
	}
	if base == nil {
		g.unchecked("which files changed: the run has no checkpoint with a snapshot")
		return nil
	}
	changes, ok := g.changes(ctx, *base)
	if !ok {
		return nil
	}
	pr.useSnapshot(w.store, *base, changes)
	if g.Since == "" {
		g.facts.Since = sinceOf(g.checkpointOf(*base), changes, g.ownWrites())
	}
	return nil
}

// base returns the snapshot of the run's last good checkpoint. If it has none, base returns the run's newest snapshot that is neither
// interim nor from before a restore, nil for none.
func (g *briefer) base() *snapshot.Record {
	if good := g.run.State.LastGood; good != nil && good.Snapshot != nil && good.Kind != pawl.CheckpointBeforeRestore {
		i := slices.IndexFunc(g.records, func(r snapshot.Record) bool { return r.ID.String() == good.Snapshot.Record })
		if i >= 0 {
			return &g.records[i]
		}
	}
	for i := len(g.records) - 1; i >= 0; i-- {
		if r := &g.records[i]; !r.Kind.Interim() && r.Kind != pawl.CheckpointBeforeRestore {
			return r
		}
	}
	return nil
}

// checkpointOf returns the journaled checkpoint of a snapshot, or else what the snapshot itself records.
func (g *briefer) checkpointOf(r snapshot.Record) pawl.Checkpoint {
	if good := g.run.State.LastGood; good != nil && good.ID == r.Checkpoint {
		return *good
	}
	return pawl.Checkpoint{ID: r.Checkpoint, Kind: r.Kind, Step: r.Step, Item: r.Item, Why: r.Why, Time: r.Ended, Seq: r.Seq}
}

func (g *briefer) since(ctx context.Context, record snapshot.Record, c pawl.Checkpoint) {
	if changes, ok := g.changes(ctx, record); ok {
		g.facts.Since = sinceOf(c, changes, g.ownWrites())
	}
}

// maxChanges is how many changed paths are listed.
const maxChanges = 400

// ownWrites returns what pawl itself wrote to the files of the run's mirror.
func (g *briefer) ownWrites() map[string]string {
	if g.run.State.Mirror == nil {
		return nil
	}
	return runs.MirrorWrites(g.project, g.run.State.Run)
}

// isOwn reports whether a change is what pawl itself wrote.
func isOwn(c snapshot.Change, own map[string]string) bool {
	sum := runs.RemovedFile
	if c.New != nil {
		sum = c.New.ID.String()
	}
	return own[c.Path] == sum && (c.New == nil || c.New.Kind == snapshot.File)
}

// sinceOf leaves out folders whose entries are listed, and counts the files that pawl itself wrote.
func sinceOf(c pawl.Checkpoint, changes []snapshot.Change, own map[string]string) *brief.Since {
	s := &brief.Since{Checkpoint: c}
	for i, change := range changes {
		e := change.New
		if e == nil {
			e = change.Old
		}
		leads := i+1 < len(changes) && strings.HasPrefix(changes[i+1].Path, change.Path+"/")
		temporary := own != nil && disk.IsTemp(change.Path) // of the mirror: the snapshot was taken while pawl wrote it
		if e.Kind == snapshot.Folder && leads || temporary {
			continue
		}
		if isOwn(change, own) {
			s.Own++
			continue
		}
		if s.Files++; len(s.Changes) < maxChanges {
			s.Changes = append(s.Changes, briefChange(change))
		}
	}
	return s
}

func briefChange(c snapshot.Change) brief.Change {
	told := brief.Change{Path: c.Path, What: c.What()}
	if c.Old != nil {
		told.Was = c.Old.Size
	}
	if c.New != nil {
		told.Is = c.New.Size
	}
	return told
}

// worktree adds the linked worktree that the reader works in.
func (g *briefer) worktree() {
	g.facts.Root, g.facts.Worktree = g.project.Root, g.project.Linked
	if x := g.run.State.Sessions[g.Session]; x != nil {
		g.facts.Worktree = x.Worktree
	}
}

// git adds HEAD now and, for the folder that checkpoints cover, at the newest checkpoint.
func (g *briefer) git(ctx context.Context) {
	if worktree := g.facts.Worktree; worktree != "" {
		if head, _ := worktreeHead(ctx, g.project, worktree); head != nil {
			g.facts.Git = head.String()
		}
		return
	}
	head, err := snapshot.HeadOf(ctx, g.project.Root)
	if err != nil {
		g.unchecked("git state: %v", err)
	}
	if head != nil {
		g.facts.Git = head.String()
	}
	if n := len(g.records); n > 0 && g.records[n-1].Head != nil {
		g.facts.GitWas = g.records[n-1].Head.String()
	}
}
