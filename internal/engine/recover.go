package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/journal"
	"pawl/internal/project"
	"pawl/internal/recovery"
	"pawl/internal/snapshot"
)

// Recovering says what is to be recovered, and from what.
type Recovering struct {
	Run       string // a name, or the beginning of one. Defaults to the newest run that is damaged or lost.
	Plan      string // the file of its plan. Defaults to the one beside the journal, else to the project's that fits.
	Trust     recovery.Confidence
	Snapshots Snapshots
	Version   string // of this program
	Person    string // who accepts
}

// Recovery is a damaged or lost run, and what can be rebuilt of it. Nobody else works in the project until Close.
type Recovery struct {
	recovery.Proposal
	New bool // there is no such run yet: its work is known from git

	project *project.Project
	lock    *project.Lock
	left    *journal.Salvage
	plan    foundPlan
}

// PrepareRecovery gathers what is left of a run and thinks through what can be rebuilt of it. It changes nothing.
func PrepareRecovery(ctx context.Context, p *project.Project, o Recovering) (*Recovery, error) {
	lock, err := p.LockEngine(project.Holder{PID: os.Getpid(), Since: time.Now().UTC(), Command: "pawl recover"})
	if err != nil {
		return nil, err
	}
	r := &Recovery{project: p, lock: lock}
	if err := r.prepare(ctx, o); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// Close lets others work again.
func (r *Recovery) Close() error { return r.lock.Unlock() }

func (r *Recovery) prepare(ctx context.Context, o Recovering) error {
	records, err := recordsOf(ctx, r.project, o.Snapshots)
	if err != nil {
		return err
	}
	defer records.close()
	run, err := chosenRun(ctx, r.project, records, o.Run)
	if err != nil {
		return err
	}
	if run == "" {
		return r.fromNothing(ctx, records, o)
	}
	return r.consider(ctx, run, records, o)
}

// chosenRun returns the run that a name stands for; without a name the newest whose journal is lost or damaged, else the
// newest of all; empty where nothing is left of any.
func chosenRun(ctx context.Context, p *project.Project, records *savedRecords, name string) (pawl.RunID, error) {
	there, err := Runs(p)
	if err != nil {
		return "", err
	}
	lost, err := journal.Lost(p.Runs())
	if err != nil {
		return "", err
	}
	aside, err := Archived(p)
	if err != nil {
		return "", err
	}
	runs := newestRuns(slices.Concat(there, lost))
	kept := slices.DeleteFunc(records.runs(), func(run pawl.RunID) bool { return slices.Contains(aside, run) })
	switch {
	case name != "":
		return named(p, newestRuns(slices.Concat(runs, kept)), name)
	case len(runs) == 0 && len(kept) == 0:
		return "", nil
	case len(runs) == 0:
		return newestRuns(kept)[0], nil
	}
	for _, run := range runs {
		if _, err := loadState(ctx, p, run); slices.Contains(lost, run) || pawl.KindOf(err) == pawl.KindDamaged {
			return run, nil
		}
	}
	return runs[0], nil
}

func newestRuns(runs []pawl.RunID) []pawl.RunID {
	slices.SortFunc(runs, byAge)
	return slices.Compact(runs)
}

// named returns the run that a name stands for: its id, or a unique beginning of it. One of which nothing is left but its
// folder must be named in full.
func named(p *project.Project, runs []pawl.RunID, name string) (pawl.RunID, error) {
	if slices.Contains(runs, pawl.RunID(name)) {
		return pawl.RunID(name), nil
	}
	found := slices.DeleteFunc(slices.Clone(runs), func(run pawl.RunID) bool { return !strings.HasPrefix(string(run), name) })
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return "", usage("pawl runs", "%q stands for %d runs", name, len(found))
	}
	if run, err := pawl.ParseRunID(name); err == nil {
		if _, err := os.Stat(p.RunDir(run)); err == nil {
			return run, nil
		}
	}
	return "", &pawl.Error{Kind: pawl.KindNothing, Err: fmt.Errorf("nothing is left of a run %q", name), Hint: "pawl runs"}
}

// fromNothing makes a proposal for a project without any run: what git says of the steps of a plan.
func (r *Recovery) fromNothing(ctx context.Context, records *savedRecords, o Recovering) error {
	plan, err := r.findPlan("", nil, o.Plan)
	if err != nil {
		return err
	}
	if plan.Plan == nil {
		return &pawl.Error{Kind: pawl.KindNothing, Err: errors.New("no run is left here, and no plan was found"), Hint: "pawl recover --plan FILE"}
	}
	run := pawl.NewRunID(plan.Name, time.Now(), randomHex(2))
	r.New, r.plan = true, plan
	return r.consider(ctx, run, records, o)
}

// consider gathers the evidence of a run and rebuilds from it.
func (r *Recovery) consider(ctx context.Context, run pawl.RunID, records *savedRecords, o Recovering) error {
	g := &gatherer{project: r.project, run: run, records: records}
	evidence, err := g.gather(ctx, r, o)
	if err != nil {
		return err
	}
	r.left, r.plan = g.left, g.plan
	r.Proposal = recovery.Rebuild(evidence, o.Trust, time.Now())
	if n := r.Proposal.Misfits(evidence.Journal); n > 0 {
		return fmt.Errorf("rebuild run %s: %d of the rebuilt events do not fit", run, n)
	}
	return nil
}

// Recovered is what an accepted recovery has made.
type Recovered struct {
	Run   pawl.RunID
	Aside string // where the damaged journal is kept; empty where there was none
}

// Accept makes the proposal the run's journal. The damaged one is set aside. Cut off anywhere, there is either the one or
// the other.
func (r *Recovery) Accept() (done Recovered, err error) {
	done.Run = r.Run
	if err := r.plan.keep(r.project, r.Run); err != nil {
		return done, err
	}
	done.Aside, err = r.left.Rebuild(r.Events)
	return done, err
}

// Refresh writes views and cache of the run anew, as it is after Accept: the old ones count the events of the old journal.
func (r *Recovery) Refresh(ctx context.Context) error {
	run, err := Load(ctx, r.project, r.Run)
	if err != nil {
		return err
	}
	return errors.Join(renew(r.project, run), run.Log.Close())
}

func renew(p *project.Project, r *Run) error {
	return errors.Join(r.Log.SaveState(r.State), WriteViews(p, r))
}

// foundPlan is the plan of a run that is recovered.
type foundPlan struct {
	*pawl.Plan
	data    []byte
	source  string           // where the user keeps it; empty: not known
	planned *pawl.RunPlanned // what the journal is to say; nil: it says so already
	write   bool             // it is to be written beside the journal
	from    string           // where it was found, in words
	sure    recovery.Confidence
}

// keep writes the plan beside the journal, where it is not there.
func (f foundPlan) keep(p *project.Project, run pawl.RunID) error {
	if !f.write {
		return nil
	}
	if err := disk.MakeFolders(p.RunDir(run)); err != nil {
		return err
	}
	return disk.Replace(filepath.Join(p.RunDir(run), f.planned.File), f.data)
}

// findPlan finds the plan of a run: as the journal names it, the newest beside the journal, the file that the user names,
// the one that the journal says the user keeps, or the only plan at the top of the project that has the run's name.
func (r *Recovery) findPlan(run pawl.RunID, state *pawl.State, named string) (foundPlan, error) {
	if r.New && r.plan.Plan != nil {
		return r.plan, nil
	}
	var before pawl.RunPlanned
	if state != nil {
		before = state.Plan
		if state.Run != "" && before.Revision == 0 && state.Kind != pawl.PlanRun && state.Kind != pawl.CommandRun {
			return foundPlan{}, nil // it never had one
		}
	}
	if run != "" {
		found, err := r.planBeside(run, before)
		if err != nil || found.Plan != nil {
			return found, err
		}
	}
	file, why, err := r.usersPlan(run, before, named)
	if err != nil || file == "" {
		return foundPlan{}, err
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return foundPlan{}, err
	}
	plan, err := pawl.ReadPlan(file, data)
	if err != nil {
		return foundPlan{}, err
	}
	found := foundPlan{Plan: plan, data: data, source: file, write: true, from: why, sure: recovery.Likely}
	if named != "" {
		found.sure = recovery.Certain
	}
	if hash(data) == before.SHA256 { // it was the copy beside the journal that was lost
		found.planned, found.sure = &before, recovery.Certain
		return found, nil
	}
	planned := planEvent(r.project, before.Revision+1, New{Plan: plan, Data: data, Source: file})
	found.planned = &planned
	return found, nil
}

// planBeside returns the newest revision of the plan that lies beside the journal.
func (r *Recovery) planBeside(run pawl.RunID, before pawl.RunPlanned) (foundPlan, error) {
	for revision := newestRevision(r.project, run); revision > 0; revision-- {
		path := r.project.PlanFile(run, revision)
		data, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		plan, err := pawl.ReadPlan(path, data)
		if err != nil {
			continue // half a plan is none
		}
		found := foundPlan{Plan: plan, data: data, from: fmt.Sprintf("%s lies beside the journal", filepath.Base(path)), sure: recovery.Certain}
		if hash(data) == before.SHA256 && revision == before.Revision {
			return found, nil
		}
		if revision == before.Revision { // it is not the one that the journal names
			continue
		}
		found.source = before.Source
		if source := r.sameFile(data); found.source == "" {
			found.source = source
		}
		planned := planEvent(r.project, revision, New{Plan: plan, Data: data, Source: r.absolute(found.source)})
		found.planned = &planned
		return found, nil
	}
	return foundPlan{}, nil
}

func (r *Recovery) absolute(path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(r.project.Root, filepath.FromSlash(path))
}

// newestRevision returns the highest number of a plan beside the journal.
func newestRevision(p *project.Project, run pawl.RunID) int {
	n := 0
	names, _ := filepath.Glob(filepath.Join(p.RunDir(run), "plan*.yaml")) // the pattern is right
	for _, name := range names {
		revision := 1
		if _, err := fmt.Sscanf(filepath.Base(name), "plan.%d.yaml", &revision); err != nil && filepath.Base(name) != "plan.yaml" {
			continue
		}
		n = max(n, revision)
	}
	return n
}

// topPlans returns what may be a plan at the top of the project, by path.
func (r *Recovery) topPlans() []string {
	var found []string
	for _, pattern := range []string{"*.yaml", "*.yml"} {
		names, _ := filepath.Glob(filepath.Join(r.project.Root, pattern)) // the pattern is right
		found = append(found, names...)
	}
	return found
}

// sameFile returns the file at the top of the project that has just these bytes.
func (r *Recovery) sameFile(data []byte) string {
	for _, path := range r.topPlans() {
		if other, err := os.ReadFile(path); err == nil && string(other) == string(data) {
			return path
		}
	}
	return ""
}

// usersPlan returns the user's own file of the plan, and why it is taken for that; empty where there is none.
func (r *Recovery) usersPlan(run pawl.RunID, before pawl.RunPlanned, named string) (path, why string, err error) {
	if named != "" {
		path, err := filepath.Abs(named)
		return path, "it was named", err
	}
	if before.Source != "" {
		path := r.absolute(before.Source)
		if _, err := os.Stat(path); err == nil {
			return path, "the journal says that the plan is kept in " + before.Source, nil
		}
	}
	var found []string
	for _, path := range r.topPlans() {
		data, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		plan, err := pawl.ReadPlan(path, data)
		if err == nil && (run == "" || strings.HasPrefix(string(run), pawl.SlugOf(plan.Name)+"-"+stamp(run))) {
			found = append(found, path)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], filepath.Base(found[0]) + " is the only plan here that has its name", nil
	case len(found) > 1:
		return "", "", usage("pawl recover --plan "+filepath.Base(found[0]), "%d plans may be the one: say which", len(found))
	case run != "":
		return "", "", usage("pawl recover "+string(run)+" --plan FILE", "the plan of run %s was not found", run)
	}
	return "", "", nil
}

// savedRecords are the snapshots' commit records, with the store to look into them.
type savedRecords struct {
	store *snapshot.Store // nil: there is none, or it cannot be read
	all   []snapshot.Record
}

// recordsOf opens the snapshots, if there are any. A store that cannot be read is no evidence, and no reason to stop.
func recordsOf(ctx context.Context, p *project.Project, cfg Snapshots) (*savedRecords, error) {
	if _, err := os.Stat(p.Snapshots()); err != nil {
		return &savedRecords{}, nil
	}
	store, err := OpenSnapshots(ctx, p, cfg)
	if err != nil {
		return &savedRecords{}, ctx.Err()
	}
	s := &savedRecords{store: store}
	if s.all, err = store.Records(); err != nil {
		s.all = nil
	}
	return s, ctx.Err()
}

// runs returns the runs that snapshots were taken of.
func (s *savedRecords) runs() []pawl.RunID {
	var runs []pawl.RunID
	for _, record := range s.all {
		if run, err := pawl.ParseRunID(string(record.Run)); err == nil {
			runs = append(runs, run)
		}
	}
	return newestRuns(runs)
}

func (s *savedRecords) close() {
	if s.store != nil {
		s.store.Close() // it was only read
	}
}

// CutShort returns an error of KindDamaged where others know of more events than a run's journal has. Cut at the end of a
// line it looks whole, and to go on from it would be to do finished work again.
func CutShort(p *project.Project, r *Run) error {
	run := r.State.Run
	if last, err := r.Log.Event(r.State.Seq); err != nil || last.By == recovery.By() {
		return errors.Join(err, renew(p, r)) // it was rebuilt, and who did so died before that
	}
	for who, knows := range map[string]func() pawl.Seq{
		"state.json": func() pawl.Seq { return journal.CachedSeq(p.Runs(), run) },
		"STATE.md":   func() pawl.Seq { return stateSeq(p, run) },
	} {
		seq := knows()
		if seq <= r.State.Seq {
			continue
		}
		if err := r.Refresh(); err != nil {
			return err
		}
		if seq > r.State.Seq { // nobody has just written it
			return &pawl.Error{
				Kind: pawl.KindDamaged, Hint: "pawl recover " + string(run),
				Err: fmt.Errorf("the journal of run %s ends at event %d, and %s knows of event %d: its end is lost", run, r.State.Seq, who, seq),
			}
		}
	}
	return nil
}

// stateSeq reads as much of STATE.md as says of which event it knows.
func stateSeq(p *project.Project, run pawl.RunID) pawl.Seq {
	file, err := os.Open(p.StateFile(run))
	if err != nil {
		return 0
	}
	defer file.Close()
	head, _ := io.ReadAll(io.LimitReader(file, 8<<10)) // what is missing does not say it
	return recovery.StateSeq(run, string(head))
}
