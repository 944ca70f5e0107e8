package runs

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/journal"
	"pawl/internal/memo"
	"pawl/internal/project"
	"pawl/internal/stepenv"
)

// Run is an open run: its journal, the folded state, and its plan.
type Run struct {
	Log   *journal.Log
	State *pawl.State
	Plan  *pawl.Plan // with the values that the caller gave; empty for a run without a plan
	Text  *pawl.Plan // the plan as written, with references to those values
	Notes []string   // warnings for the user, one line each, such as views that could not be written

	Current bool // it was loaded as the current run

	mayBeForged bool // the state comes from a cache; see CheckCache

	foreign *error // what RequireOwn returned; nil: it was not asked

	files   memo.Files // see foldedRun
	lineage string     // see stateMemo

	LostPlan []byte // the plan's content if its copy next to the journal is damaged or missing; otherwise nil
}

// Load opens a run for reading and appending. It verifies the whole journal.
func Load(ctx context.Context, p *project.Project, run pawl.RunID) (*Run, error) {
	return loadFrom(ctx, p, p.Runs(), run)
}

// Glance is Load for a look that takes no lock and changes nothing. The newest batch may be there in part.
func Glance(ctx context.Context, p *project.Project, run pawl.RunID) (*Run, error) {
	log, err := journal.Glance(p.Runs(), run)
	log, state, err := folded(ctx, log, nil, err)
	if err != nil {
		return nil, err
	}
	return withPlan(p, p.Runs(), run, foldedRun{log: log, state: state})
}

func loadFrom(ctx context.Context, p *project.Project, folder string, run pawl.RunID) (*Run, error) {
	f, err := openFoldedIn(ctx, p, folder, run)
	if err != nil {
		return nil, err
	}
	return withPlan(p, folder, run, f)
}

// withPlan returns a run whose journal has been read, and reads its plan. If that fails, it closes the journal.
func withPlan(p *project.Project, folder string, run pawl.RunID, f foldedRun) (*Run, error) {
	r := &Run{Log: f.log, State: f.state, files: f.files, lineage: f.lineage}
	if err := r.Log.Stale(); err != nil {
		r.Notes = append(r.Notes, fmt.Sprintf("this copy of the run may be behind its database: %v", err))
	}
	if err := r.readPlan(p, folder, f.plan); err != nil {
		return nil, errors.Join(err, r.Log.Close())
	}
	return r, nil
}

// LoadToContinue is Load for an engine and for resume. The state must not come from a cache that somebody else may have
// written, so the journal is folded from its first event, which also verifies all its segments. Only for an unfinished run
// without gates that has more than journal.QuickFold events is the cached state returned. Then the caller runs r.CheckCache
// concurrently, passes no gate before that returns nil, and stops if it returns an error.
func LoadToContinue(ctx context.Context, p *project.Project, run pawl.RunID) (*Run, error) {
	log, err := journal.Open(p.Runs(), run)
	if err != nil {
		return nil, err
	}
	r, err := loadFolded(ctx, p, log, run)
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	return r, nil
}

func loadFolded(ctx context.Context, p *project.Project, log *journal.Log, run pawl.RunID) (*Run, error) {
	if err := log.Stale(); err != nil {
		return nil, err
	}
	if log.Seq() > journal.QuickFold && !log.Gated() {
		r := &Run{Log: log, mayBeForged: true}
		if err := r.fold(ctx, p, log.State); err != nil {
			return nil, err
		}
		if log.PlanHash() == r.State.Plan.SHA256 && !r.State.Ended() && !hasGates(r.Plan) {
			return r, nil
		}
	}
	r := &Run{Log: log}
	err := r.fold(ctx, p, func(ctx context.Context) (*pawl.State, error) {
		state, wrong, err := log.Refold(ctx)
		for _, m := range wrong {
			r.Notes = append(r.Notes, fmt.Sprintf("ignored %s: %v", m.Where, m))
		}
		return state, err
	})
	return r, err
}

// fold sets the state and reads the plan.
func (r *Run) fold(ctx context.Context, p *project.Project, fold func(context.Context) (*pawl.State, error)) (err error) {
	state, err := fold(ctx)
	if err == nil {
		r.State, err = requirePlan(r.Log, state)
	}
	if err != nil {
		return err
	}
	return r.readPlan(p, p.Runs(), nil)
}

// hasGates reports whether a plan has anything that waits for a person.
func hasGates(plan *pawl.Plan) bool {
	asks := func(s *pawl.Step) bool { return s.Gate != nil || len(s.Review) > 0 }
	return plan.Mode == pawl.HandsOn || plan.Budget != pawl.Budget{} || slices.ContainsFunc(plan.Steps(), asks)
}

// VerifyCache folds the whole journal if the state came from a cache. A cache that does not follow from the journal is an
// error of KindDamaged.
func (r *Run) VerifyCache(ctx context.Context) error {
	if !r.mayBeForged {
		return nil
	}
	return r.Log.CheckStates(ctx)
}

// CheckCache is VerifyCache that moves a wrong cache aside, so that the next resume does not use it.
func (r *Run) CheckCache(ctx context.Context) error {
	if !r.mayBeForged {
		return nil
	}
	err := r.Log.CheckAndDiscardStates(ctx)
	if _, wrong := errors.AsType[journal.Mismatch](err); wrong {
		return &pawl.Error{Kind: pawl.KindDamaged, Err: err, Hint: "pawl resume " + string(r.State.Run)}
	}
	return err
}

// RefreshAll is Refresh that also reads the plan if the events since name another one.
func (r *Run) RefreshAll(p *project.Project) error {
	before, given := r.State.Plan, r.State.Given
	if err := r.Refresh(); err != nil || r.State.Plan == before && r.State.Given.Equal(given) {
		return err
	}
	return r.readPlan(p, p.Runs(), nil)
}

// SHA256Hex returns the SHA-256 of data in hex.
func SHA256Hex(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// CreateOptions describes a run to create.
type CreateOptions struct {
	Kind     pawl.RunKind
	Plan     *pawl.Plan
	Data     []byte // the plan's file content
	Source   string // where the user keeps the plan; "" for nowhere
	Given    pawl.GivenValues
	Version  string      // of this program
	Replaces pawl.RunID  // an unfinished run to archive. Defaults to none.
	Request  string      // names the request to create the run, which is done once. Defaults to no name.
	By       pawl.Author // Defaults to a person without a name.

	Mirrored *pawl.RunMirrored // its mirror. Defaults to none.

	// Adopt returns the events that adopt results of an earlier run. It is called before anything is written; an error keeps
	// the run from being created. Defaults to no events.
	Adopt func() ([]pawl.Payload, error)
}

// Create creates a run: its folder, its copy of the plan, and a journal whose first batch names both. If it is
// interrupted, no run exists: a folder without a journal is not a run. The replaced run is archived after the new one
// exists. For a named request, the caller holds the engine lock.
func Create(ctx context.Context, p *project.Project, n CreateOptions) (pawl.RunID, error) {
	if err := RefuseSecrets(n.Source, nil, n.Plan); err != nil {
		return "", err
	}
	if n.Replaces == "" {
		return create(ctx, p, n)
	}
	if err := requireIdleRun(ctx, p, n.Replaces); err != nil {
		return "", err
	}
	run, err := create(ctx, p, n)
	if err != nil {
		return "", err
	}
	return run, moveToArchive(ctx, p, n.Replaces)
}

func create(ctx context.Context, p *project.Project, n CreateOptions) (pawl.RunID, error) {
	if before, err := FindRequested(ctx, p, n.Request); err != nil || before != "" {
		return "", cmp.Or(err, error(&pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("run %s was started by the same request", before), Hint: "pawl status " + string(before)}))
	}
	adopted, err := n.adopted()
	if err != nil {
		return "", err
	}
	run := pawl.NewRunID(n.Plan.Name, time.Now(), disk.RandomHex(2))
	events, err := n.first(p, run)
	if err != nil {
		return "", err
	}
	events = append(events, adopted...)
	if err := Claim(p, run, events); err != nil {
		return "", err
	}
	if err := disk.MakeFolders(p.RunDir(run)); err != nil {
		return "", err
	}
	if err := disk.Replace(p.PlanFile(run, 1), n.Data); err != nil {
		return "", err
	}
	log, err := journal.Create(p.Runs(), run)
	if err != nil {
		return "", err
	}
	_, err = log.Append(ctx, 0, events...)
	return run, errors.Join(err, log.Close())
}

// first returns the events with which the run is created.
func (n CreateOptions) first(p *project.Project, run pawl.RunID) ([]pawl.Event, error) {
	by := n.By
	if by.Kind == "" {
		by.Kind = pawl.ByPerson
	}
	payloads := []pawl.Payload{
		pawl.RunCreated{Format: pawl.Format, Run: run, Project: p.ID, Kind: n.Kind, Name: n.Plan.Name, Pawl: n.Version, Request: n.Request, Shell: pawl.DefaultShell},
		PlanEvent(p, 1, n),
	}
	if n.Mirrored != nil {
		payloads = append(payloads, *n.Mirrored)
	}
	return eventsOf(by, append(payloads, stepenv.Events(n.Given)...))
}

// adopted returns the events that adopt results of an earlier run.
func (n CreateOptions) adopted() ([]pawl.Event, error) {
	if n.Adopt == nil {
		return nil, nil
	}
	payloads, err := n.Adopt()
	if err != nil {
		return nil, err
	}
	return eventsOf(pawl.Author{Kind: pawl.ByEngine}, payloads)
}

func PlanEvent(p *project.Project, revision int, n CreateOptions) pawl.RunPlanned {
	source := n.Source
	if rel, err := filepath.Rel(p.Root, source); source != "" && err == nil && filepath.IsLocal(rel) {
		source = filepath.ToSlash(rel)
	}
	return pawl.RunPlanned{
		Revision: revision, File: filepath.Base(p.PlanFile("", revision)), SHA256: SHA256Hex(n.Data), Source: source,
		Steps: len(n.Plan.Steps()), Goal: n.Plan.Goal, Mode: n.Plan.Mode,
	}
}

// List returns the project's runs, newest first.
func List(p *project.Project) ([]pawl.RunID, error) {
	runs, err := journal.Runs(p.Runs())
	if err != nil {
		return nil, err
	}
	slices.SortFunc(runs, func(a, b pawl.RunID) int {
		return cmp.Or(strings.Compare(RunStamp(b), RunStamp(a)), strings.Compare(string(b), string(a)))
	})
	for rest := runs; len(rest) > 0; { // the runs of one second after the other
		n := 1
		for n < len(rest) && RunStamp(rest[n]) == RunStamp(rest[0]) {
			n++
		}
		if n > 1 {
			sortByCreation(p, rest[:n])
		}
		rest = rest[n:]
	}
	return runs, nil
}

// sortByCreation sorts runs of the same second, newest first.
func sortByCreation(p *project.Project, runs []pawl.RunID) {
	created := make(map[pawl.RunID]time.Time, len(runs))
	for _, run := range runs {
		created[run] = createdAt(p, run)
	}
	slices.SortStableFunc(runs, func(a, b pawl.RunID) int { return created[b].Compare(created[a]) })
}

// RunStamp returns the date and time in a run's ID.
func RunStamp(run pawl.RunID) string {
	const width, random = len("yyyymmdd-hhmmss"), len("-0000")
	if len(run) < width+random {
		return ""
	}
	return string(run[len(run)-width-random : len(run)-random])
}

// createdAt returns when the run's first plan was written, to order runs of the same second.
func createdAt(p *project.Project, run pawl.RunID) time.Time {
	info, err := disk.Lstat(p.PlanFile(run, 1))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// LoadState folds a run's journal.
func LoadState(ctx context.Context, p *project.Project, run pawl.RunID) (*pawl.State, error) {
	f, err := openFolded(ctx, p, run)
	if err != nil {
		return nil, err
	}
	return f.state, f.log.Close()
}

// openFolded opens a run's journal and folds it.
func openFolded(ctx context.Context, p *project.Project, run pawl.RunID) (foldedRun, error) {
	return openFoldedIn(ctx, p, p.Runs(), run)
}

// requirePlan returns the state, or an error: a torn first batch may be present only in part, and a run without its plan was
// never acknowledged, like one without events.
func requirePlan(log *journal.Log, state *pawl.State) (*pawl.State, error) {
	if planned := state.Kind == pawl.PlanRun || state.Kind == pawl.CommandRun; planned && state.Plan.Revision == 0 {
		return nil, log.Empty()
	}
	return state, nil
}

func IsPlanRun(s *pawl.State) bool { return s.Kind != pawl.SessionRun }

func NewToken() pawl.Token { return pawl.Token(disk.RandomHex(8)) }

func NewCheckpointID() pawl.CheckpointID { return pawl.CheckpointID(disk.RandomHex(4)) }

// unfinishedRunOf returns the unfinished run of a plan, or "". It ignores a run that cannot be read, because its plan is
// unknown.
func unfinishedRunOf(ctx context.Context, p *project.Project, source string) (pawl.RunID, error) {
	run, err := FindUnfinished(ctx, p, source)
	if pawl.KindOf(err) == pawl.KindDamaged {
		return "", nil
	}
	return run, err
}

// FindReplaceable returns the unfinished run of a plan, or "". It fails if a rollback of that run is unfinished: nothing would finish it.
func FindReplaceable(ctx context.Context, p *project.Project, source string) (pawl.RunID, error) {
	run, err := unfinishedRunOf(ctx, p, source)
	if run == "" || err != nil {
		return "", err
	}
	s, err := LoadState(ctx, p, run)
	if err != nil {
		return run, nil
	}
	return run, RequireNoRollback(s)
}
