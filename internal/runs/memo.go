package runs

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/journal"
	"pawl/internal/memo"
	"pawl/internal/project"
	"pawl/internal/view"
)

// The user's state folder has memos of what pawl read of a run: the state after its last event, its plan, and that it is the user's own.
// They spare a command that only looks the reading of what has not changed. A state is remembered only if it was folded from the journal, not
// if it comes from the cached state next to the journal, which others may have written. Nothing that carries work past a gate rests on memos:
// LoadToContinue reads the journal.

// memorable is the size of a journal from which on a memo of it is worth its file, in bytes.
const memorable = 64 << 10

// memoPath returns the path of a memo about a run in a folder of runs.
func memoPath(p *project.Project, folder string, run pawl.RunID, about string) string {
	name := string(run) + "." + about
	if folder != p.Runs() {
		name += ".archived"
	}
	return filepath.Join(p.Trust.Folder, "memo", name)
}

// journalFiles returns the files that a run's journal consists of, as they are now. It returns false if they are not all there is: the run
// is stored in a database.
func journalFiles(folder string, run pawl.RunID, others ...string) (files memo.Files, local bool) {
	paths, err := journal.Sources(folder, run)
	if err != nil {
		return memo.Files{}, false
	}
	return memo.At(append(paths, others...)...), true
}

// foldedRun is a run's open journal with the state after its events.
type foldedRun struct {
	log   *journal.Log
	state *pawl.State
	files memo.Files // the journal's, at a moment before it was read; zero if it is not in files, or the project is untrusted

	lineage string // see stateMemo; "" if it is unknown

	plan recalledPlan // nil: not yet
}

// isMemorable reports whether a memo of a journal counts, and is worth its file.
func isMemorable(files memo.Files) bool { return files.Settled() && files.Size() >= memorable }

// stateMemo is a state after the last event of a journal.
type stateMemo struct {
	journal.Known

	// Lineage names the states of which each was folded on from the one before, in a journal that continued that one's: what an earlier
	// one says of a past event holds for a later one. It is random.
	Lineage string
}

// openFoldedIn opens a run's journal in a folder of runs and folds it. It reads the journal only if that has changed since it was last
// folded, and folds only what is new.
func openFoldedIn(ctx context.Context, p *project.Project, folder string, run pawl.RunID) (f foldedRun, err error) {
	if !p.Trust.Trusted() {
		f.log, err = journal.Open(folder, run)
		f.log, f.state, err = folded(ctx, f.log, nil, err)
		return f, err
	}
	var known stateMemo
	if was, ok := memo.LoadEarlier(memoPath(p, folder, run, "state"), &known); !ok || known.State == nil {
		known = stateMemo{Known: journal.Known{Cache: ownCache(p, folder, run)}}
	} else if was.Unchanged() {
		f.state, f.files, f.lineage = known.State, was, known.Lineage
		f.log, err = journal.Unread(folder, run, known.State.Seq)
		return f, err
	}
	files, local := journalFiles(folder, run)
	f.log, err = journal.OpenAfter(folder, run, &known.Known)
	f.log, f.state, err = folded(ctx, f.log, &known.Known, err)
	if err != nil {
		return f, err
	}
	if f.lineage = known.Lineage; f.state != known.State { // it was not folded on
		f.lineage = disk.RandomHex(8)
	}
	if local {
		f.files = files
	}
	if isMemorable(files) && local && f.log.Proven() {
		f.rememberState(p, folder)
	}
	return f, nil
}

// folded folds a journal, from a known state on, unless opening it was an error.
func folded(ctx context.Context, log *journal.Log, known *journal.Known, err error) (*journal.Log, *pawl.State, error) {
	if err != nil {
		return nil, nil, err
	}
	state, err := log.StateAfter(ctx, known)
	if err == nil {
		state, err = requirePlan(log, state)
	}
	if err != nil {
		return nil, nil, errors.Join(err, log.Close())
	}
	return log, state, nil
}

// rememberState remembers a state that follows from a journal.
func (f foldedRun) rememberState(p *project.Project, folder string) {
	if known, err := f.log.Known(f.state); err == nil {
		_ = memo.Save(memoPath(p, folder, f.state.Run, "state"), f.files, &stateMemo{known, f.lineage}) // without it the next command folds the journal
	}
}

// SaveState caches a run's state, which must follow from its journal: the caller has folded that itself, or checked the cached state that
// it began with.
func SaveState(p *project.Project, log *journal.Log, state *pawl.State) error {
	sha, err := log.SaveStateAs(state)
	if err != nil || sha == "" || !p.Trust.Trusted() {
		return err
	}
	path := memoPath(p, p.Runs(), state.Run, "cache")
	if disk.MakeFolders(filepath.Dir(path)) == nil {
		_ = disk.Put(path, []byte(sha)) // without it the cached state counts as anybody's
	}
	return nil
}

// ownCache returns the hash of the cached state that SaveState wrote last; "" if it is unknown.
func ownCache(p *project.Project, folder string, run pawl.RunID) string {
	sha, _ := disk.ReadFile(memoPath(p, folder, run, "cache"), disk.IdentityLimit)
	return string(sha)
}

// ownMemo is what Elsewhere remembers of a run that is this user's own.
type ownMemo struct{ Own bool }

// knownOwn reports whether a run was this user's own when its files were as they are now.
func knownOwn(p *project.Project, run pawl.RunID) bool {
	var was ownMemo
	return memo.Load(memoPath(p, p.Runs(), run, "own"), &was) && was.Own
}

// rememberOwn remembers that a run is this user's own.
func rememberOwn(p *project.Project, run pawl.RunID, files memo.Files) {
	if files.Settled() {
		_ = memo.Save(memoPath(p, p.Runs(), run, "own"), files, &ownMemo{Own: true}) // without it the next command looks again
	}
}

// longPlan is the size of a plan from which on a memo of it is worth its file, in bytes. Commands that list runs read the plans of all.
const longPlan = 4 << 10

// planMemo is a copy of a plan as it was read.
type planMemo struct {
	SHA256 string
	Plan   pawl.Plan
}

// recalledPlan returns a plan as it was last read, nil if it has changed since.
type recalledPlan func() *planMemo

func recallPlan(p *project.Project, folder string, run pawl.RunID) *planMemo {
	var known planMemo
	if !memo.Load(memoPath(p, folder, run, "plan"), &known) {
		return nil
	}
	return &known
}

// readPlanCopy is ReadPlan for a run in a folder of runs, unless the plan is as it was when it was last read. recalled may be nil.
func readPlanCopy(p *project.Project, folder string, state *pawl.State, recalled recalledPlan) (*pawl.Plan, error) {
	home := filepath.Join(folder, string(state.Run))
	if !p.Trust.Trusted() || state.Plan.Revision == 0 {
		return ReadPlan(home, state)
	}
	if recalled == nil {
		recalled = func() *planMemo { return recallPlan(p, folder, state.Run) }
	}
	if known := recalled(); known != nil && known.SHA256 == state.Plan.SHA256 {
		return &known.Plan, nil
	}
	files := memo.At(filepath.Join(home, filepath.Base(state.Plan.File)))
	plan, err := ReadPlan(home, state)
	if err == nil && files.Settled() && files.Size() >= longPlan {
		_ = memo.Save(memoPath(p, folder, state.Run, "plan"), files, &planMemo{SHA256: state.Plan.SHA256, Plan: *plan}) // without it the next command reads the plan
	}
	return plan, err
}

// openSegment returns the path of the file to which a run's events are added.
func openSegment(p *project.Project, run pawl.RunID) string {
	return filepath.Join(p.RunDir(run), journal.FileName)
}

// maxNewest is of how many runs NewestJournals looks.
const maxNewest = 32

// NewestJournals returns the journals of the newest runs as they are now, without those that cannot be read.
func NewestJournals(p *project.Project) map[pawl.RunID]fs.FileInfo {
	all, err := List(p)
	if err != nil {
		return nil
	}
	found := map[pawl.RunID]fs.FileInfo{}
	for _, run := range all[:min(len(all), maxNewest)] {
		if info, err := disk.Lstat(openSegment(p, run)); err == nil {
			found[run] = info
		}
	}
	return found
}

// UnchangedSince reports whether a run's journal has certainly got no event since NewestJournals returned these.
func (r *Run) UnchangedSince(p *project.Project, journals map[pawl.RunID]fs.FileInfo) bool {
	was := journals[r.State.Run]
	if was == nil || r.files.Size() == 0 { // the journal may be in a database
		return false
	}
	now, err := disk.Lstat(openSegment(p, r.State.Run))
	return err == nil && os.SameFile(was, now) && was.Size() == now.Size()
}

// Recalled is what is known of a memo about a run.
type Recalled int

// The cases of Recalled.
const (
	Unknown Recalled = iota // there is none, or it is of another journal
	Earlier                 // it was computed from the journal before events were added to it
	Current                 // it was computed from the journal from which the run was loaded
)

// aboutRun is a memo about a run.
type aboutRun[T any] struct {
	Lineage string
	Seq     pawl.Seq
	Value   T
}

// Recall reads what was remembered about a run. The caller may pass to remember what it has computed from the run. It calls both while the
// run's state is as it was loaded.
func Recall[T any](p *project.Project, r *Run, about string, value *T) (as Recalled, remember func(*T)) {
	var none T
	*value = none
	if r.lineage == "" {
		return Unknown, func(*T) {}
	}
	path, known := memoPath(p, p.Runs(), r.State.Run, about), aboutRun[T]{}
	was, ok := memo.LoadEarlier(path, &known)
	switch {
	case !ok:
	case was.Equal(r.files):
		as, *value = Current, known.Value
	case known.Lineage == r.lineage && known.Seq <= r.State.Seq:
		as, *value = Earlier, known.Value
	}
	return as, func(now *T) {
		if isMemorable(r.files) {
			_ = memo.Save(path, r.files, &aboutRun[T]{r.lineage, r.State.Seq, *now}) // without it the next command computes it again
		}
	}
}

// viewsMemo is the event after which the views were as they should be, and the plan then.
type viewsMemo struct {
	Seq  pawl.Seq
	Plan string
}

// viewFiles returns the views of a run as they are now: the folder, in which each new, replaced or removed view shows, and those views that
// all runs have.
func viewFiles(p *project.Project, run pawl.RunID) memo.Files {
	paths := []string{p.RunDir(run)}
	for _, name := range view.Names() {
		paths = append(paths, filepath.Join(p.RunDir(run), name))
	}
	return memo.At(paths...)
}

// viewsWritten reports whether the views of a run are as they were when they showed its state.
func viewsWritten(p *project.Project, r *Run) bool {
	var was viewsMemo
	return p.Trust.Trusted() && memo.Load(memoPath(p, p.Runs(), r.State.Run, "views"), &was) && was == viewsMemo{r.State.Seq, r.State.Plan.SHA256}
}

// rememberViews remembers that the views of a run show its state.
func rememberViews(p *project.Project, r *Run, files memo.Files) {
	if p.Trust.Trusted() && files.Settled() {
		_ = memo.Save(memoPath(p, p.Runs(), r.State.Run, "views"), files, &viewsMemo{r.State.Seq, r.State.Plan.SHA256}) // without it they are written again
	}
}
