package rebuild

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/journal"
	"pawl/internal/outputs"
	"pawl/internal/project"
	"pawl/internal/runs"
	"pawl/internal/shellwords"
	"pawl/internal/snapshot"
	"pawl/internal/supervise"
)

// gatherer collects everything that is left of a run.
type gatherer struct {
	project *project.Project
	run     pawl.RunID
	records *runs.SnapshotRecords
	fresh   bool // the run does not exist yet

	left  *journal.Salvage
	state *pawl.State // folded from what is left of the journal
	plan  foundPlan
	tried map[pawl.StepID]map[pawl.ItemID][]AttemptRecord // attempt records by step and item; "" is the step itself
}

func (g *gatherer) gather(ctx context.Context, r *Recovery, o Options) (Evidence, error) {
	e := Evidence{Run: g.run, Project: g.project.ID, Version: o.Version, Person: o.Person, ListFaults: map[pawl.StepID]string{}}
	var err error
	if g.left, err = journal.ReadSalvage(g.project.Runs(), g.run); err != nil {
		return e, err
	}
	g.state = pawl.NewState()
	for _, event := range g.left.Events {
		g.state.Apply(event)
	}
	e.Journal, e.Damage = g.left.Events, g.damage()
	e.CachedSeq = journal.CachedSeq(g.project.Runs(), g.run)
	if g.plan, err = r.findPlan(g.run, g.state, o.Plan); err != nil {
		return e, err
	}
	e.Plan, e.Planned, e.PlanFrom, e.PlanConfidence = g.plan.Plan, g.plan.planned, g.plan.from, g.plan.confidence
	if err := g.attempts(); err != nil {
		return e, err
	}
	if err := g.renamed(); err != nil {
		return e, err
	}
	g.views(&e)
	e.Snapshots = g.snapshots()
	if g.plan.Plan != nil {
		g.units(&e)
		e.Commits = g.commits(ctx)
	}
	return e, nil
}

// damage describes what is wrong with the journal itself.
func (g *gatherer) damage() string {
	switch {
	case g.left.Damage != nil:
		return g.left.Damage.Error()
	case !g.left.Exists:
		return "there is no journal"
	case len(g.left.Events) == 0:
		return "the journal is empty"
	case (g.state.Kind == pawl.PlanRun || g.state.Kind == pawl.CommandRun) && g.state.Plan.Revision == 0:
		return "the journal ends before it names the plan"
	}
	return ""
}

// attempts reads all attempt folders. An unreadable one is ignored.
func (g *gatherer) attempts() error {
	g.tried = map[pawl.StepID]map[pawl.ItemID][]AttemptRecord{}
	steps := filepath.Join(g.project.RunDir(g.run), "steps")
	for _, step := range runs.Subfolders(steps) {
		for _, below := range runs.Subfolders(filepath.Join(steps, step)) {
			if err := g.attempt(pawl.StepID(step), "", below); err != nil {
				return err
			}
			for _, number := range runs.Subfolders(filepath.Join(steps, step, below)) {
				if err := g.attempt(pawl.StepID(step), pawl.ItemID(below), number); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// attempt reads an attempt folder. Other folders, such as an item's or the checks', are skipped.
func (g *gatherer) attempt(step pawl.StepID, item pawl.ItemID, name string) error {
	number, err := strconv.Atoi(name)
	if err != nil || number < 1 {
		return nil
	}
	dir := g.project.AttemptDir(pawl.AttemptRef{Step: step, Item: item, Attempt: number}, g.run)
	if _, err := disk.Lstat(filepath.Join(dir, pawl.LockFile)); err != nil {
		if _, err := disk.Lstat(filepath.Join(dir, pawl.ExitFile)); err != nil {
			return nil
		}
	}
	rec := AttemptRecord{Attempt: number}
	status, err := supervise.Probe(dir)
	if err == nil {
		rec.Begun, rec.Exit, rec.Live = status.Begun, cmp.Or(status.Exit, status.Unsynced), status.State == supervise.Live
	}
	rec.Job = supervise.ReadJob(dir)
	result, err := runs.ReadResult(dir)
	if rec.Result = result; err != nil {
		rec.ResultErr = err.Error()
	}
	if g.tried[step] == nil {
		g.tried[step] = map[pawl.ItemID][]AttemptRecord{}
	}
	g.tried[step][item] = append(g.tried[step][item], rec)
	return nil
}

// renamed fails if the folder belongs to another run under a wrong name. That run is intact once its folder has the
// right name.
func (g *gatherer) renamed() error {
	owners := map[pawl.RunID]bool{}
	for _, items := range g.tried {
		for _, records := range items {
			for _, rec := range records {
				if rec.Job != nil {
					owners[rec.Job.Run] = true
				}
			}
		}
	}
	for owner := range owners {
		if _, err := pawl.ParseRunID(string(owner)); err != nil || len(owners) > 1 || owner == g.run || g.state.Run != "" {
			return nil
		}
		if _, err := disk.Lstat(g.project.RunDir(owner)); err == nil {
			return nil
		}
		return &pawl.Error{
			Kind: pawl.KindDamaged, Err: fmt.Errorf("folder %s is the renamed folder of run %s", g.run, owner),
			Hint: fmt.Sprintf("mv %s %s", shellwords.Word(g.project.RunDir(g.run)), shellwords.Word(g.project.RunDir(owner))),
		}
	}
	return nil
}

// views parses the views. Some facts are recorded nowhere else.
func (g *gatherer) views(e *Evidence) {
	read := func(path string) string {
		data, err := disk.ReadFile(path, disk.ViewLimit)
		if err != nil {
			return ""
		}
		return string(data)
	}
	p := g.project
	e.State = ReadState(g.run, read(p.StateFile(g.run)))
	e.Decisions = ReadDecisions(g.run, read(p.DecisionsFile(g.run)))
	e.Blockers = ReadBlockers(g.run, read(p.BlockersFile(g.run)))
	e.Summaries = map[pawl.StepID]SummaryView{}
	if g.plan.Plan == nil {
		return
	}
	for _, step := range g.plan.Steps() {
		if text := read(p.SummaryFile(g.run, step.ID)); text != "" {
			e.Summaries[step.ID] = ReadSummary(g.run, text)
		}
	}
}

// snapshots returns the run's snapshots.
func (g *gatherer) snapshots() []Snapshot {
	var own []Snapshot
	for _, record := range g.records.All {
		if record.Run != g.run {
			continue
		}
		own = append(own, Snapshot{
			Checkpoint: pawl.Checkpoint{
				ID: record.Checkpoint, Kind: record.Kind, Step: record.Step, Item: record.Item, Why: record.Why, Live: record.Live,
				Snapshot: record.Snapshot(), Time: record.Ended,
			},
			Attempt: record.Attempt, Token: record.Token, After: record.Seq,
		})
	}
	return own
}

// maxCommits is how many git commits are read.
const maxCommits = 5000

// commits returns the git commits since the run was created, newest first, none without git.
func (g *gatherer) commits(ctx context.Context) []Commit {
	since := g.run.Created()
	if g.fresh {
		since = time.Time{}
	}
	log, err := snapshot.CommitsOf(ctx, g.project.Root, since, maxCommits)
	if err != nil {
		return nil
	}
	commits := make([]Commit, len(log))
	for i, c := range log {
		commits[i] = Commit{Hash: c.Hash, Subject: c.Subject, Time: c.Time}
	}
	return commits
}

// units collects attempts, inputs and outputs of every step and item.
func (g *gatherer) units(e *Evidence) {
	for _, step := range g.plan.Steps() {
		e.Units = append(e.Units, g.unit(runs.Work{Step: step, Index: -1}))
		if step.Foreach == nil {
			continue
		}
		values, err := g.workList(step)
		if err != nil {
			e.ListFaults[step.ID] = err.Error()
		}
		for index, value := range values {
			e.Units = append(e.Units, g.unit(runs.Work{Step: step, Index: index, Value: value}))
		}
	}
}

// workList returns a foreach step's item list, including values from the environments of attempts.
func (g *gatherer) workList(step *pawl.Step) ([]string, error) {
	var journaled, tried []string
	for _, event := range g.left.Events {
		if event.Type != (pawl.StepListed{}).Event() && event.Type != (pawl.StepReopened{}).Event() {
			continue
		}
		payload, err := event.Payload()
		if err != nil {
			continue
		}
		switch p := payload.(type) {
		case pawl.StepListed:
			if p.Step == step.ID {
				journaled = append(journaled, p.Items...)
			}
		case pawl.StepReopened:
			if p.Step == step.ID && !p.Keep && len(p.Items) == 0 {
				journaled = nil
			}
		}
	}
	for _, records := range g.tried[step.ID] {
		for _, rec := range records {
			if rec.Job == nil || rec.Job.Item == "" {
				continue
			}
			tried = append(tried, envOf(rec.Job, "PAWL_ITEM"))
		}
	}
	slices.Sort(tried)
	now, err := runs.ListValues(g.project.Root, step)
	return WorkList(journaled, now, slices.Compact(tried)), err
}

func envOf(job *pawl.Job, name string) string {
	for _, v := range job.Env {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

func (g *gatherer) unit(w runs.Work) Unit {
	origin := g.run
	if g.state.Run != "" {
		origin = g.state.Origin()
	}
	w.Vars = runs.PathVars(origin, w)
	u := Unit{Step: w.Step, Index: w.Index, Item: w.Item(), Value: w.Value, Records: g.tried[w.Step.ID][w.Item()]}
	u.Inputs = g.currentOutputs(w.Paths(runs.KeyInputs(w)), &u.Missing)
	if w.Step.Foreach == nil || w.Index >= 0 {
		u.Outputs = g.currentOutputs(w.Paths(w.Step.Outputs), &u.Missing)
		u.SnapshotOutputs = g.snapshotOutputs(u)
	}
	return u
}

// currentOutputs returns the current content of declared paths, and appends the missing ones to missing.
func (g *gatherer) currentOutputs(declared []string, missing *[]string) pawl.Outputs {
	var all pawl.Outputs
	for _, path := range declared {
		found, err := outputs.Hash(g.project.Root, []string{path})
		if err != nil {
			*missing = append(*missing, path)
			continue
		}
		for name, c := range found {
			if all == nil {
				all = pawl.Outputs{}
			}
			all[name] = c
		}
	}
	return all
}

// snapshotOutputs returns the unit's outputs in the newest snapshot taken after the work finished. Snapshots have no
// hash of folders and large files.
func (g *gatherer) snapshotOutputs(u Unit) pawl.Outputs {
	record := g.recordAfter(u)
	if record == nil {
		return nil
	}
	var all pawl.Outputs
	for path, c := range u.Outputs {
		entry, err := g.records.Store.At(*record, path)
		if err != nil || entry == nil || entry.Kind != snapshot.File || c.Files > 0 {
			continue
		}
		if all == nil {
			all = pawl.Outputs{}
		}
		all[path] = pawl.Content{SHA256: entry.ID.String(), Size: entry.Size}
	}
	return all
}

func (g *gatherer) recordAfter(u Unit) *snapshot.Record {
	var ended time.Time
	var token pawl.Token
	for _, rec := range u.Records {
		if rec.Exit != nil {
			ended, token = rec.Exit.Ended, rec.Exit.Token
		}
	}
	if ended.IsZero() {
		return nil
	}
	for i := range slices.Backward(g.records.All) {
		record := &g.records.All[i]
		if record.Run == g.run && (record.Token == token || record.Started.After(ended)) {
			return record
		}
	}
	return nil
}
