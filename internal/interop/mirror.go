package interop

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/disk"
	"pawl/internal/interop/format"
	"pawl/internal/project"
	"pawl/internal/runs"
	"pawl/internal/sessionlock"
	"pawl/internal/snapshot"
)

// Mirror is another system's files that are kept up to date.
type Mirror struct {
	Format format.Format
	Dir    string // absolute; for a format with tables it may be a single file

	Answers bool // answers to gates in the files count as the user's. Defaults to false.

	place string // in Dir, if the user named one of Format.Places
}

// Record returns the mirror as the journal records it.
func (m *Mirror) Record(p *project.Project) pawl.RunMirrored {
	record := pawl.RunMirrored{System: m.Format.Name}
	if rel, err := filepath.Rel(p.Root, filepath.Join(m.Dir, filepath.FromSlash(m.place))); err == nil && rel != "." {
		record.Path = filepath.ToSlash(rel)
	}
	return record
}

// dirIn returns the mirror's folder relative to the project's, empty if it is the project's.
func (m *Mirror) dirIn(p *project.Project) string {
	rel, err := filepath.Rel(p.Root, m.Dir)
	if err != nil || rel == "." {
		return ""
	}
	return filepath.ToSlash(rel)
}

// withLock calls write while no other pawl process of the project writes another system's files and, for a file outside the project,
// no process of another project does.
func (m *Mirror) withLock(p *project.Project, write func() error) error {
	return p.WithMirrorLock(func() error {
		at := locate(m.Dir, m.Format)
		if rel, err := filepath.Rel(p.Root, at.dir); at.file == "" || err == nil && filepath.IsLocal(rel) {
			return write()
		}
		return project.WithFolderLock(at.dir, write)
	})
}

// mirrorFiles returns the files that are out of date for a run; none if someone else has continued its work since, unless the user
// exports it. engine says whether an engine runs it. A run with live attempts is reported as running too, so that nobody starts their
// work again.
func mirrorFiles(ctx context.Context, p *project.Project, r *runs.Run, m Mirror, cfg config.Snapshots, trigger format.Trigger, engine bool, files format.Files) []format.File {
	var store *snapshot.Store
	if _, err := disk.Lstat(p.Snapshots()); err == nil {
		if store, err = runs.OpenSnapshotsReadOnly(ctx, p, cfg); err == nil {
			defer store.Close()
		}
	}
	engine = engine || anyAlive(p, r.State)
	export := newExport(ctx, p, r, m.Format, store, trigger, engine)
	export.Dir, export.Removed = m.dirIn(p), removedIDs(m.removals(p, r, files))
	found, moved := conflictsOf(m.Format, files, export)
	if r.Notes = appendNew(r.Notes, found); moved && trigger != format.Exported {
		return nil
	}
	return m.Format.Write(files, export)
}

// refresh writes the mirror of a run that no engine runs. The caller holds the project's mirror lock.
func (m *Mirror) refresh(ctx context.Context, p *project.Project, r *runs.Run, cfg config.Snapshots) error {
	var read format.Files
	written, err := m.update(p, r.State, func(files format.Files) ([]format.File, error) {
		read = files
		written := mirrorFiles(ctx, p, r, *m, cfg, finalTrigger(r.State), false, files)
		if changed := m.changedByOthers(p, r.State, files, written); changed != "" && m.Format.Conflicts == nil {
			return nil, fmt.Errorf("%s was changed by someone else since pawl last wrote it for run %s, and is not overwritten", changed, r.State.Run)
		}
		return written, nil
	})
	if err == nil {
		m.noteListed(p, r.State, r.Plan, mergeFiles(read, written))
	}
	r.Notes = append(r.Notes, replacedNotes(written)...)
	return err
}

// maxTries limits how often update reads files again that someone else changes at the same time.
const maxTries = 5

// update reads the files, writes what change returns, and retries if someone else changed a file in between. It returns the
// files that it wrote, also with an error.
func (m *Mirror) update(p *project.Project, run *pawl.State, change func(format.Files) ([]format.File, error)) (written []format.File, err error) {
	for range maxTries {
		var files format.Files
		if files, err = readToWrite(run, m.Dir, m.Format); err != nil {
			break
		}
		var release func() error
		if release, err = m.lock(files, run); err != nil {
			time.Sleep(sessionlock.RetryPause)
			continue
		}
		var done []format.File
		done, err = m.change(p, run, files, change)
		err = errors.Join(err, release())
		written = append(written, done...)
		if !errors.Is(err, format.ErrChanged) {
			break
		}
	}
	switch {
	case err != nil:
		m.markFailed(p, run, err)
	case run.Ended():
		m.markWritten(p, run)
	}
	return written, err
}

// change writes what do returns, and returns the files that it wrote, also with an error.
func (m *Mirror) change(p *project.Project, run *pawl.State, files format.Files, do func(format.Files) ([]format.File, error)) ([]format.File, error) {
	changed, err := do(files)
	if err != nil {
		return nil, err
	}
	_ = m.saveState(p, run, files, changed) // only a cache
	return writeFiles(m.Dir, m.Format, files, changed)
}

// LastMirrored returns the newest run with this plan name and mirror, archived or not; nil if there is none. Runs that
// cannot be read are ignored.
func LastMirrored(ctx context.Context, p *project.Project, name string, m pawl.RunMirrored) *pawl.State {
	var newest *pawl.State
	consider := func(s *pawl.State, err error) {
		if err == nil && s.Name == name && s.Mirror.SameFiles(m) && (newest == nil || s.Updated.After(newest.Updated)) {
			newest = s
		}
	}
	ids, _ := runs.List(p)
	for _, run := range ids {
		consider(runs.LoadState(ctx, p, run))
	}
	archived, _ := runs.ArchivedRuns(p)
	for _, run := range archived {
		if r, err := runs.LoadArchived(ctx, p, run); err == nil {
			consider(r.State, r.Log.Close())
		}
	}
	return newest
}
