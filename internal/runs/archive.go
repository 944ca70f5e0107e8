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

// DefaultArchives is how many archived runs are kept by default.
const DefaultArchives = 5

// ArchiveOptions selects the runs to archive and what happens to older archives.
type ArchiveOptions struct {
	Runs   []pawl.RunID // Defaults to all ended runs except the newest run.
	Keep   int          // number of archived runs to keep
	Delete bool         // delete the others; otherwise they are only listed
}

// ArchiveResult is what ArchiveRuns did.
type ArchiveResult struct {
	Moved   []pawl.RunID `json:"archived"`
	Due     []pawl.RunID `json:"due"` // beyond Keep, and not deleted
	Deleted []pawl.RunID `json:"deleted"`
}

// ArchiveRuns moves whole runs to the archive. It fails if a run has running processes, or if an engine is running.
// Each run is moved atomically. Runs that were just archived are never deleted.
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
		if err := moveToArchive(ctx, p, run); err != nil {
			return done, err
		}
		done.Moved = append(done.Moved, run)
	}
	return done, trimArchive(ctx, p, a, &done)
}

// endedRuns returns all ended runs except the newest run of all, which people still look at.
func endedRuns(ctx context.Context, p *project.Project) ([]pawl.RunID, error) {
	runs, err := List(p)
	if err != nil || len(runs) == 0 {
		return nil, err
	}
	var found []pawl.RunID
	for _, run := range runs[1:] {
		if s, err := LoadState(ctx, p, run); err == nil && s.Ended() { // unreadable runs are the business of pawl verify
			found = append(found, run)
		}
	}
	return found, nil
}

// requireIdleRun fails if an attempt of the run is running. If the journal cannot be read, it checks every attempt
// folder.
func requireIdleRun(ctx context.Context, p *project.Project, run pawl.RunID) error {
	s, err := LoadState(ctx, p, run)
	switch {
	case err == nil && s.Restore != nil:
		return unfinishedRestoreError(s.Restore)
	case err == nil:
		return RequireNoLiveAttempt(p, s)
	case pawl.KindOf(err) != pawl.KindDamaged:
		return err
	}
	return disk.WalkDir(filepath.Join(p.RunDir(run), "steps"), func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case d.Name() == pawl.LockFile && AttemptAlive(filepath.Dir(path)):
			return &pawl.Error{Kind: pawl.KindHeld, Err: fmt.Errorf("an attempt is still running: %s", filepath.Dir(path))}
		}
		return nil
	})
}

// UnfinishedError returns the error of a command that would start a run of a plan although an earlier run is unfinished. It says what
// continues that run, and what starting over needs.
func UnfinishedError(ctx context.Context, p *project.Project, run pawl.RunID) error {
	hint, over := "pawl resume "+string(run), "or pass --new to archive it and start over"
	if s, err := LoadState(ctx, p, run); err == nil {
		hint = ContinueCommand(s)
	}
	if err := requireIdleRun(ctx, p, run); pawl.HintOf(err) != "" {
		over = fmt.Sprintf("or start over: %s, and then pawl run --new (%v)", pawl.HintOf(err), err)
	}
	return &pawl.Error{Kind: pawl.KindUsage, Hint: hint, Err: fmt.Errorf("run %s of this plan is unfinished; resume it, %s", run, over)}
}

// RequireNoLiveAttempt fails if an attempt of the run is running.
func RequireNoLiveAttempt(p *project.Project, s *pawl.State) error {
	for _, live := range s.Live() {
		if AttemptAlive(p.AttemptDir(live.AttemptRef, s.Run)) {
			return &pawl.Error{
				Kind: pawl.KindHeld, Hint: "pawl stop " + string(s.Run),
				Err: fmt.Errorf("attempt %d of %s is still running, in run %s", live.Attempt, live.Name(), s.Run),
			}
		}
	}
	return requireNoUndo(p, s)
}

func moveToArchive(ctx context.Context, p *project.Project, run pawl.RunID) error {
	if err := endKernels(ctx, p, run, "the run was archived", func(string) {}); err != nil { // it may wait for a person; in the archive, nobody would find its kernels
		return fmt.Errorf("archive run %s: %w", run, err)
	}
	if err := disk.MakeFolders(p.Archive()); err != nil {
		return fmt.Errorf("archive run %s: %w", run, err)
	}
	if err := disk.Rename(p.RunDir(run), p.ArchivedDir(run)); err != nil {
		return fmt.Errorf("archive run %s: %w", run, err)
	}
	return disk.SyncFolder(p.Runs())
}

// deletingPrefix marks archived runs that are being deleted, so that they do not count as runs.
const deletingPrefix = ".gone-"

// trimArchive lists the archived runs beyond the limit and deletes them if requested.
func trimArchive(ctx context.Context, p *project.Project, a ArchiveOptions, done *ArchiveResult) error {
	aside, err := ArchivedRuns(p)
	if err != nil {
		return err
	}
	for _, run := range aside[min(a.Keep, len(aside)):] {
		if !a.Delete || slices.Contains(done.Moved, run) {
			done.Due = append(done.Due, run)
			continue
		}
		if err := journal.DeleteStored(ctx, p.Archive(), run); err != nil {
			return fmt.Errorf("delete archived run %s: %w", run, err)
		}
		from := p.ArchivedDir(run)
		if err := disk.Rename(from, filepath.Join(p.Archive(), deletingPrefix+string(run))); err != nil {
			return fmt.Errorf("delete archived run %s: %w", run, err)
		}
		done.Deleted = append(done.Deleted, run)
	}
	return removeDeleted(p)
}

// removeDeleted removes archived runs that are marked for deletion, including those of an interrupted call.
func removeDeleted(p *project.Project) error {
	left, err := disk.Glob(p.Archive(), deletingPrefix+"*")
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

// ArchivedRuns returns the archived runs, newest first.
func ArchivedRuns(p *project.Project) ([]pawl.RunID, error) {
	runs, err := journal.Runs(p.Archive())
	slices.SortFunc(runs, byAge)
	return runs, err
}

// byAge orders runs by the time in their IDs, newest first.
func byAge(a, b pawl.RunID) int {
	return cmp.Or(strings.Compare(RunStamp(b), RunStamp(a)), strings.Compare(string(b), string(a)))
}

// LoadArchived opens an archived run for reading.
func LoadArchived(ctx context.Context, p *project.Project, run pawl.RunID) (*Run, error) {
	return loadFrom(ctx, p, p.Archive(), run)
}

// RequireNoRollback fails if the run has an unfinished rollback.
func RequireNoRollback(s *pawl.State) error {
	if s.Rollback == nil {
		return nil
	}
	return &pawl.Error{
		Kind: pawl.KindDamaged, Hint: "pawl rollback",
		Err: fmt.Errorf("run %s has an unfinished rollback to checkpoint %s", s.Run, s.Rollback.Checkpoint),
	}
}

// UnfinishedRollback returns the target of the project's unfinished rollback, "" for none.
func UnfinishedRollback(ctx context.Context, p *project.Project) (pawl.CheckpointID, error) {
	runs, err := List(p)
	if err != nil {
		return "", err
	}
	for _, run := range runs {
		s, err := LoadState(ctx, p, run)
		if err == nil && s.Rollback != nil { // unreadable runs are the business of pawl verify
			return s.Rollback.Checkpoint, nil
		}
	}
	return "", nil
}

// requireNoUndo fails if an undo command of the run is running.
func requireNoUndo(p *project.Project, s *pawl.State) error {
	if s.Rollback == nil || s.Rollback.Undoing == nil || !AttemptAlive(p.UndoDir(*s.Rollback.Undoing, s.Run)) {
		return nil
	}
	return &pawl.Error{
		Kind: pawl.KindHeld, Hint: "pawl rollback",
		Err: fmt.Errorf("undo %d of %s is still running, in run %s", s.Rollback.Undoing.Attempt, s.Rollback.Undoing.Name(), s.Run),
	}
}

// AttemptAlive reports whether a supervisor runs in an attempt's folder.
func AttemptAlive(dir string) bool {
	status, err := supervise.Probe(dir)
	return err == nil && status.State == supervise.Live
}
