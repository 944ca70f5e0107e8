package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/journal"
	"pawl/internal/project"
)

// search looks for a run. It keeps two runs open, the newest and the one that it read last, since most searches end with one of them.
type search struct {
	project      *project.Project
	runs         []pawl.RunID // newest first
	newest, last looked
}

// looked is a run that a search has read, or the error of that.
type looked struct {
	foldedRun
	run pawl.RunID
	err error
}

func newSearch(p *project.Project) (*search, error) {
	runs, err := List(p)
	return &search{project: p, runs: runs}, err
}

func (f *search) state(ctx context.Context, run pawl.RunID) (*pawl.State, error) {
	known := &f.last
	if run == f.runs[0] {
		known = &f.newest
	}
	if known.run != run {
		if err := known.close(); err != nil {
			return nil, err
		}
		known.run = run
		known.foldedRun, known.err = openFolded(ctx, f.project, run)
	}
	return known.state, known.err
}

// take returns a run if it is open, and leaves it to the caller to close it.
func (f *search) take(run pawl.RunID) (looked, bool) {
	for _, known := range []*looked{&f.newest, &f.last} {
		if taken := *known; taken.log != nil && taken.run == run {
			*known = looked{}
			return taken, true
		}
	}
	return looked{}, false
}

func (f *search) close() error { return errors.Join(f.newest.close(), f.last.close()) }

func (l *looked) close() error {
	if l.log == nil {
		return nil
	}
	return l.log.Close()
}

// FindRun returns the run for a name: an ID, a unique prefix, "latest" for the newest run, or "" for the current run. That
// is the run of the running engine, else the newest unfinished run that is not a session, else the newest. A session run that
// contains only checkpoints counts as newest only if there is no other run.
func FindRun(ctx context.Context, p *project.Project, name string) (pawl.RunID, error) {
	f, err := newSearch(p)
	if err != nil {
		return "", err
	}
	run, err := f.find(ctx, name)
	return run, errors.Join(err, f.close())
}

// LoadNamed loads the run that FindRun returns for a name.
func LoadNamed(ctx context.Context, p *project.Project, name string) (*Run, error) {
	f, err := newSearch(p)
	if err != nil {
		return nil, err
	}
	var plan recalledPlan
	if p.Trust.Trusted() && len(f.runs) > 0 && name == "" { // it is probably the newest one's
		plan = sync.OnceValue(func() *planMemo { return recallPlan(p, p.Runs(), f.runs[0]) })
		var reading sync.WaitGroup
		reading.Go(func() { plan() })
		defer reading.Wait()
	}
	run, err := f.find(ctx, name)
	known, open := f.take(run)
	if plan != nil && run == f.runs[0] {
		known.plan = plan
	}
	if err = errors.Join(err, f.close()); err != nil {
		return nil, errors.Join(err, known.close())
	}
	var r *Run
	if open {
		r, err = withPlan(p, p.Runs(), run, known.foldedRun)
	} else {
		r, err = Load(ctx, p, run)
	}
	if err == nil {
		r.Current = name == ""
	}
	return r, err
}

// quickJournal is the size of a journal that is read to look whether its run is the current one, in bytes.
const quickJournal = 1 << 20

// LoadNamedToContinue is LoadToContinue of the run that FindRun returns for a name. It reads the newest run only once if that is the current
// one.
func LoadNamedToContinue(ctx context.Context, p *project.Project, name string) (*Run, error) {
	if name == "" {
		if r, err := newestToContinue(ctx, p); r != nil || err != nil {
			return r, err
		}
	}
	run, err := FindRun(ctx, p, name)
	if err != nil {
		return nil, err
	}
	return LoadToContinue(ctx, p, run)
}

// newestToContinue loads the newest run if it is the current one and its journal is short; nil if FindRun has to search.
func newestToContinue(ctx context.Context, p *project.Project) (*Run, error) {
	runs, err := List(p)
	if _, alive := p.EngineHolder(); err != nil || len(runs) == 0 || alive {
		return nil, err
	}
	if file, err := disk.Lstat(filepath.Join(p.RunDir(runs[0]), journal.FileName)); err != nil || file.Size() > quickJournal {
		return nil, nil
	}
	if stored, err := journal.StoredIn(p.Runs(), runs[0]); err != nil || stored != "" { // which may not answer
		return nil, nil
	}
	r, err := LoadToContinue(ctx, p, runs[0])
	if err != nil {
		return nil, nil // FindRun decides what that means
	}
	if r.State.Ended() || !IsPlanRun(r.State) {
		return nil, r.Log.Close()
	}
	return r, nil
}

func (f *search) find(ctx context.Context, name string) (pawl.RunID, error) {
	switch {
	case len(f.runs) == 0:
		return "", f.none(ctx, name)
	case name == "":
		return f.current(ctx)
	case name == "latest":
		return f.firstWithWork(ctx)
	}
	var found []pawl.RunID
	for _, run := range f.runs {
		if string(run) == name {
			return run, nil
		}
		if strings.HasPrefix(string(run), name) {
			found = append(found, run)
		}
	}
	switch len(found) {
	case 0:
		return "", ExplainMissing(ctx, f.project, name, &pawl.Error{Kind: pawl.KindNothing, Err: fmt.Errorf("no run %q", name), Hint: "pawl runs"})
	case 1:
		return found[0], nil
	}
	return "", &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("%q is ambiguous: %d runs match", name, len(found)), Hint: "pawl runs"}
}

// noRuns is pawl.ErrNoRun where no run was named and there is none.
type noRuns struct{}

func (noRuns) Error() string {
	return "no runs yet (a plan or a session of an attached agent starts one)"
}

func (noRuns) Unwrap() error { return pawl.ErrNoRun }

func (f *search) current(ctx context.Context) (pawl.RunID, error) {
	if holder, alive := f.project.EngineHolder(); alive && slices.Contains(f.runs, holder.Run) {
		return holder.Run, nil
	}
	unfinished, err := f.firstUnfinished(ctx, IsPlanRun)
	if err == nil && unfinished == "" {
		return f.firstWithWork(ctx)
	}
	return unfinished, err
}

// firstWithWork returns the first run that contains more than checkpoints, or the first run.
func (f *search) firstWithWork(ctx context.Context) (first pawl.RunID, err error) {
	for _, run := range f.runs {
		s, err := f.state(ctx, run)
		if errors.Is(err, journal.ErrEmpty) {
			continue // its creation was interrupted: not a run
		}
		if err != nil || !onlyCheckpoints(s) {
			return run, nil
		}
		if first == "" {
			first = run
		}
	}
	if first == "" {
		return "", f.none(ctx, "")
	}
	return first, nil
}

// none returns the error that there is no run for a name, or no run at all.
func (f *search) none(ctx context.Context, name string) error {
	if name == "" {
		return ExplainMissing(ctx, f.project, name, &pawl.Error{Kind: pawl.KindNothing, Err: noRuns{}, Hint: "pawl run PLAN"})
	}
	return ExplainMissing(ctx, f.project, name, pawl.ErrNoRun)
}

// onlyCheckpoints reports whether a run is a session run without any work: pawl created it for a checkpoint, such as
// the one before a restore, because no run was unfinished.
func onlyCheckpoints(s *pawl.State) bool {
	return s.Kind == pawl.SessionRun && s.Forked == nil && s.Import.System == "" &&
		len(s.Sessions)+len(s.Steps)+len(s.Gates)+len(s.Blockers)+len(s.Made)+s.Learned == 0
}

// CheckpointRuns returns the current run, and the session runs that contain only checkpoints, of which some are newer than the
// current run.
func CheckpointRuns(ctx context.Context, p *project.Project) ([]pawl.RunID, error) {
	f, err := newSearch(p)
	if err != nil {
		return nil, err
	}
	run, err := f.find(ctx, "")
	if err != nil {
		return nil, errors.Join(err, f.close())
	}
	found := []pawl.RunID{run}
	if now, err := f.state(ctx, run); err == nil { // else its intact checkpoints are listed
		for _, other := range f.runs {
			if s, err := f.state(ctx, other); err == nil && other != run && onlyCheckpoints(s) && s.Updated.After(now.Created) {
				found = append(found, other)
			}
		}
	}
	return found, f.close()
}

// FindUnfinished returns the newest unfinished run of the plan at source, "" for none.
func FindUnfinished(ctx context.Context, p *project.Project, source string) (pawl.RunID, error) {
	f, err := newSearch(p)
	if err != nil {
		return "", err
	}
	run, err := f.firstUnfinished(ctx, func(s *pawl.State) bool { return isOf(p, s, source) })
	return run, errors.Join(err, f.close())
}

// isOf reports whether a run is one of the plan at source.
func isOf(p *project.Project, s *pawl.State, source string) bool {
	path := filepath.FromSlash(s.Plan.Source)
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.Root, path)
	}
	return path == source
}

// requestsLast is how long a run is known by the request that started it.
const requestsLast = 48 * time.Hour

// FindRequested returns the run that a request with a name has created, "" for none or without a name. A damaged run is an error, since it
// may be that run.
func FindRequested(ctx context.Context, p *project.Project, request string) (pawl.RunID, error) {
	if request == "" {
		return "", nil
	}
	runs, err := List(p)
	if err != nil {
		return "", err
	}
	for _, run := range runs {
		if time.Since(run.Created()) > requestsLast {
			continue
		}
		name, err := requestOf(ctx, p, run)
		if err != nil || name == request {
			return run, err
		}
	}
	return "", nil
}

// requestOf returns the name of the request that created a run.
func requestOf(ctx context.Context, p *project.Project, run pawl.RunID) (string, error) {
	f, err := openFolded(ctx, p, run)
	if errors.Is(err, journal.ErrEmpty) {
		return "", nil // its creation was interrupted: not a run
	}
	if err != nil {
		return "", err
	}
	first, err := f.log.Event(1)
	if err = errors.Join(err, f.log.Close()); err != nil {
		return "", err
	}
	var created pawl.RunCreated
	err = json.Unmarshal(first.Data, &created)
	return created.Request, err
}

// FindEarlier returns the newest run of the plan at source that was made or adopted here, "" for none. A damaged run is an
// error, since it may be that run.
func FindEarlier(ctx context.Context, p *project.Project, source string) (pawl.RunID, error) {
	runs, err := List(p)
	if err != nil {
		return "", err
	}
	for _, run := range runs {
		s, err := LoadState(ctx, p, run)
		switch {
		case errors.Is(err, journal.ErrEmpty):
			continue // its creation was interrupted: not a run
		case err != nil:
			return run, err
		case s.Kind != pawl.PlanRun || !isOf(p, s, source):
			continue
		}
		if reason, err := Elsewhere(p, run); err != nil {
			return run, err
		} else if reason == "" {
			return run, nil
		}
	}
	return "", nil
}

// firstUnfinished returns the first matching run that has not ended. A damaged run counts as unfinished, so that it is
// not ignored silently.
func (f *search) firstUnfinished(ctx context.Context, fits func(*pawl.State) bool) (pawl.RunID, error) {
	var ended *pastRuns
	for i, run := range f.runs {
		if i == fewRuns && f.project.Trust.Trusted() {
			ended = recallEnded(f.project)
			defer func() { ended.remember(f.runs) }()
		}
		var files runFiles
		var settled bool
		if ended != nil {
			if files, settled = filesOf(f.project, run); ended.has(run, files) {
				continue
			}
		}
		s, err := f.state(ctx, run)
		if errors.Is(err, journal.ErrEmpty) {
			continue // its creation was interrupted: not a run
		}
		if err != nil || !s.Ended() && fits(s) {
			return run, err
		}
		if settled && s.Ended() {
			ended.add(run, files)
		}
	}
	return "", nil
}
