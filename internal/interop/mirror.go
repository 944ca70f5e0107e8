package interop

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/interop/format"
	"pawl/internal/project"
	"pawl/internal/runs"
	"pawl/internal/snapshot"
)

// Mirror is another system whose files are kept up to date.
type Mirror struct {
	Codec format.Format
	Dir   string // the folder that it lives in or, of a system whose files hold tables, one file; absolute

	place string // of one of several in that folder, where it was named; else the run's own, or the first
}

// Said is what the journal says of the mirror.
func (m *Mirror) Said(p *project.Project) pawl.RunMirrored {
	said := pawl.RunMirrored{System: m.Codec.Name}
	if rel, err := filepath.Rel(p.Root, filepath.Join(m.Dir, filepath.FromSlash(m.place))); err == nil && rel != "." {
		said.Path = filepath.ToSlash(rel)
	}
	return said
}

// mirrorOver returns the files of another system that differ from how they are to be for a run that no engine of ours works
// on, over those that were read; engine says whether another one does. A run whose attempts live on under their supervisors
// is as active as with one: nobody is to begin their work again.
func mirrorOver(ctx context.Context, p *project.Project, r *runs.Run, m Mirror, cfg config.Snapshots, why format.Trigger, engine bool, files format.Files) []format.File {
	var store *snapshot.Store
	if _, err := os.Stat(p.Snapshots()); err == nil {
		if store, err = runs.OpenSnapshots(ctx, p, cfg); err == nil {
			defer store.Close()
		}
	}
	engine = engine || anyAlive(p, r.State)
	return m.Codec.Write(files, viewOf(ctx, p, r, m.Codec, store, why, engine))
}

// refresh is Codecs.Refresh for a run that no engine works on, while no other pawl writes such files.
func (m *Mirror) refresh(ctx context.Context, p *project.Project, r *runs.Run, cfg config.Snapshots) error {
	written, err := m.put(p, r.State, func(files format.Files) ([]format.File, error) {
		written := mirrorOver(ctx, p, r, *m, cfg, lastMoment(r.State), false, files)
		if theirs := m.theirs(p, r.State, files, written); theirs != "" {
			return nil, fmt.Errorf("%s was changed by somebody else since it was last written for run %s, and stays as it is", theirs, r.State.Run)
		}
		return written, nil
	})
	r.Notes = append(r.Notes, MadeAnew(written)...)
	return err
}

// tries is how often what others change at the same time is read again, to be written.
const tries = 5

// put writes what over makes of the files that were read, and again where somebody else was faster. It returns all that
// it wrote by then, with an error too.
func (m *Mirror) put(p *project.Project, run *pawl.State, over func(format.Files) ([]format.File, error)) (written []format.File, err error) {
	for range tries {
		var files format.Files
		if files, err = readToWrite(run, m.Dir, m.Codec); err != nil {
			break
		}
		if err = m.unlocked(files, run); err != nil {
			time.Sleep(lockPause)
			continue
		}
		var made, landed []format.File
		if made, err = over(files); err != nil {
			break
		}
		_ = m.remember(p, run, files, made) // a cache
		landed, err = WriteForeign(m.Dir, m.Codec, files, made)
		written = append(written, landed...)
		if !errors.Is(err, format.ErrChanged) {
			break
		}
	}
	if err != nil {
		m.fell(p, run, err)
	}
	return written, err
}

// LastMirrored returns the newest run of a plan's name that has the files of a system at a path kept up to date, archived or
// not; nil where there is none. Runs that cannot be read are none.
func LastMirrored(ctx context.Context, p *project.Project, name string, m pawl.RunMirrored) *pawl.State {
	var newest *pawl.State
	look := func(s *pawl.State, err error) {
		if err == nil && s.Name == name && s.Mirror != nil && *s.Mirror == m && (newest == nil || s.Updated.After(newest.Updated)) {
			newest = s
		}
	}
	ids, _ := runs.List(p)
	for _, run := range ids {
		look(runs.LoadState(ctx, p, run))
	}
	archived, _ := runs.ArchivedRuns(p)
	for _, run := range archived {
		if r, err := runs.LoadArchived(ctx, p, run); err == nil {
			look(r.State, r.Log.Close())
		}
	}
	return newest
}
