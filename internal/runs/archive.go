package runs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"pawl"
	"pawl/internal/disk"
	"pawl/internal/journal"
	"pawl/internal/project"
	"pawl/internal/supervise"
	"slices"
	"strings"
	"time"
)

// DefaultArchives is how many runs stay in the archive before the oldest are due to go.
const DefaultArchives = 5

// ArchiveOptions says which runs are set aside, and what becomes of older ones.
type ArchiveOptions struct {
	Runs   []pawl.RunID // Defaults to all that have ended, but the newest run.
	Keep   int          // archives that stay
	Delete bool         // the others are deleted; else they are only named
}

// ArchiveResult is what an archiving did.
type ArchiveResult struct {
	Moved   []pawl.RunID `json:"archived"`
	Due     []pawl.RunID `json:"due"` // more than are kept, and still there
	Deleted []pawl.RunID `json:"deleted"`
}

// ArchiveRuns moves whole runs to the archive. It refuses one of which anything still runs, and all while an engine works.
// A run is moved in one move: it is always whole, in one place or in the other. What was just moved is never deleted.
func ArchiveRuns(ctx context.Context, p *project.Project, a ArchiveOptions) (done ArchiveResult, err error) {
	lock, err := p.LockEngine(project.Holder{PID: os.Getpid(), Since: time.Now().UTC(), Command: "pawl archive"})
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	runs := a.Runs
	if len(runs) == 0 {
		if runs, err = endedRuns(ctx, p); err != nil {
			return done, err
		}
	}
	for _, run := range runs {
		if err := requireIdleRun(ctx, p, run); err != nil {
			return done, err
		}
	}
	for _, run := range runs {
		if err := moveToArchive(p, run); err != nil {
			return done, err
		}
		done.Moved = append(done.Moved, run)
	}
	return done, trimArchive(p, a, &done)
}

// endedRuns returns the runs that have ended, but the newest of all: people still look at that one.
func endedRuns(ctx context.Context, p *project.Project) ([]pawl.RunID, error) {
	runs, err := List(p)
	if err != nil || len(runs) == 0 {
		return nil, err
	}
	var found []pawl.RunID
	for _, run := range runs[1:] {
		if s, err := LoadState(ctx, p, run); err == nil && s.Ended() { // what cannot be read is left to pawl verify
			found = append(found, run)
		}
	}
	return found, nil
}

// requireIdleRun refuses a run of which an attempt still runs. Of one that cannot be read, every attempt is asked.
func requireIdleRun(ctx context.Context, p *project.Project, run pawl.RunID) error {
	s, err := LoadState(ctx, p, run)
	switch {
	case err == nil:
		return RequireNoLiveAttempt(p, s)
	case pawl.KindOf(err) != pawl.KindDamaged:
		return err
	}
	return filepath.WalkDir(filepath.Join(p.RunDir(run), "steps"), func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case d.Name() == pawl.LockFile && AttemptAlive(filepath.Dir(path)):
			return &pawl.Error{Kind: pawl.KindHeld, Err: fmt.Errorf("an attempt still runs: %s", filepath.Dir(path))}
		}
		return nil
	})
}

// RequireNoLiveAttempt refuses a run of which an attempt still runs.
func RequireNoLiveAttempt(p *project.Project, s *pawl.State) error {
	for _, live := range s.Live() {
		if AttemptAlive(p.AttemptDir(live.AttemptRef, s.Run)) {
			return &pawl.Error{
				Kind: pawl.KindHeld, Hint: "pawl stop " + string(s.Run),
				Err: fmt.Errorf("attempt %d of %s still runs, in run %s", live.Attempt, live.Name(), s.Run),
			}
		}
	}
	return requireNoUndo(p, s)
}

func moveToArchive(p *project.Project, run pawl.RunID) error {
	if err := disk.MakeFolders(p.Archive()); err != nil {
		return fmt.Errorf("archive run %s: %w", run, err)
	}
	if err := disk.Rename(p.RunDir(run), filepath.Join(p.Archive(), string(run))); err != nil {
		return fmt.Errorf("archive run %s: %w", run, err)
	}
	return disk.SyncFolder(p.Runs())
}

// deletingPrefix begins the names of archived runs that are being deleted. It makes them no runs.
const deletingPrefix = ".gone-"

// trimArchive finds the archives that are more than are kept, and deletes them where it is to.
func trimArchive(p *project.Project, a ArchiveOptions, done *ArchiveResult) error {
	aside, err := ArchivedRuns(p)
	if err != nil {
		return err
	}
	for _, run := range aside[min(a.Keep, len(aside)):] {
		if !a.Delete || slices.Contains(done.Moved, run) {
			done.Due = append(done.Due, run)
			continue
		}
		from := filepath.Join(p.Archive(), string(run))
		if err := disk.Rename(from, filepath.Join(p.Archive(), deletingPrefix+string(run))); err != nil {
			return fmt.Errorf("delete archived run %s: %w", run, err)
		}
		done.Deleted = append(done.Deleted, run)
	}
	return removeDeleted(p)
}

// removeDeleted removes what is no archive any more, also what one that was cut off has left.
func removeDeleted(p *project.Project) error {
	left, err := filepath.Glob(filepath.Join(p.Archive(), deletingPrefix+"*"))
	if err != nil {
		return err
	}
	for _, path := range left {
		if err := disk.RemoveTree(path); err != nil {
			return fmt.Errorf("delete an archived run: %w", err)
		}
	}
	return nil
}

// ArchivedRuns returns the runs set aside, newest first.
func ArchivedRuns(p *project.Project) ([]pawl.RunID, error) {
	runs, err := journal.Runs(p.Archive())
	slices.SortFunc(runs, byAge)
	return runs, err
}

// byAge orders runs by the time in their ids, the newest first.
func byAge(a, b pawl.RunID) int {
	return cmp.Or(strings.Compare(RunStamp(b), RunStamp(a)), strings.Compare(string(b), string(a)))
}

// LoadArchived opens a run that was set aside, for reading.
func LoadArchived(ctx context.Context, p *project.Project, run pawl.RunID) (*Run, error) {
	return loadFrom(ctx, p, p.Archive(), run)
}

// RequireNoRollback refuses a run that is half rolled back.
func RequireNoRollback(s *pawl.State) error {
	if s.Rollback == nil {
		return nil
	}
	return &pawl.Error{
		Kind: pawl.KindDamaged, Hint: "pawl rollback, or pawl rollback --stop",
		Err: fmt.Errorf("run %s is half rolled back, to checkpoint %s", s.Run, s.Rollback.Checkpoint),
	}
}

// UnfinishedRollback returns the checkpoint of the rollback that has not ended, empty where there is none.
func UnfinishedRollback(ctx context.Context, p *project.Project) (pawl.CheckpointID, error) {
	runs, err := List(p)
	if err != nil {
		return "", err
	}
	for _, run := range runs {
		s, err := LoadState(ctx, p, run)
		if err == nil && s.Rollback != nil { // one that cannot be read is pawl verify's
			return s.Rollback.Checkpoint, nil
		}
	}
	return "", nil
}

// requireNoUndo refuses a run of which an undo command still runs.
func requireNoUndo(p *project.Project, s *pawl.State) error {
	if s.Rollback == nil || s.Rollback.Undoing == nil || !AttemptAlive(p.UndoDir(*s.Rollback.Undoing, s.Run)) {
		return nil
	}
	return &pawl.Error{
		Kind: pawl.KindHeld, Hint: "pawl rollback",
		Err: fmt.Errorf("undo %d of %s still runs, in run %s", s.Rollback.Undoing.Attempt, s.Rollback.Undoing.Name(), s.Run),
	}
}

// AttemptAlive reports whether a supervisor works in an attempt's folder.
func AttemptAlive(dir string) bool {
	status, err := supervise.Probe(dir)
	return err == nil && status.State == supervise.Live
}
