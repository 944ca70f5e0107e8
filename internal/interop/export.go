package interop

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/interop/format"
	"pawl/internal/project"
	"pawl/internal/runs"
)

// Export writes the files of another system that are out of date for a run, and returns them; dry only returns them.
//
// If the folder has no such files yet, Export starts from a copy of the files that the run was imported from, so that text
// that pawl does not know is kept. If those cannot be read, a note of the run says so. The files that the run was imported
// from are left alone until the run has events that they do not contain.
func Export(ctx context.Context, p *project.Project, r *runs.Run, m Mirror, cfg config.Snapshots, engine, dry bool) (written []format.File, err error) {
	var unread error
	change := func(files format.Files) ([]format.File, error) {
		var source format.Files
		if len(files) == 0 {
			source, unread = importedFiles(ctx, p, r.State, m.Format)
		} else if same, err := unchangedSinceImport(ctx, p, r.State, m); same || err != nil {
			return nil, err
		}
		return mergeFiles(source, mirrorFiles(ctx, p, r, m, cfg, format.Exported, engine, slices.Concat(files, source))), nil
	}
	if dry {
		var files format.Files
		if files, err = readToWrite(r.State, m.Dir, m.Format); err == nil {
			written, err = change(files)
		}
	} else {
		err = m.withLock(p, func() error {
			written, err = m.update(p, r.State, change)
			return err
		})
		r.Notes = append(r.Notes, replacedNotes(written)...)
	}
	if unread != nil {
		r.Notes = append(r.Notes, fmt.Sprintf("cannot read the files that run %s was imported from, so the export does not start from them: %v", r.State.Run, unread))
	}
	return written, err
}

// importedFiles returns the files that a run was imported from, if they still describe its work, and no other run's; nil if
// they are databases.
func importedFiles(ctx context.Context, p *project.Project, s *pawl.State, f format.Format) (format.Files, error) {
	if s.Import.System != f.Name {
		return nil, nil
	}
	dir := importDir(p, s)
	folder, err := OpenFolder(ctx, p, f, dir)
	if err != nil {
		return nil, err
	}
	if unread := folder.Unread(); len(unread) > 0 {
		return nil, fmt.Errorf("%s: %s", unread[0].Where, unread[0].What)
	}
	if len(folder.files) == 0 {
		return nil, fmt.Errorf("no files in %s", dir)
	}
	imported, _ := folder.Read(s.Import.Place)
	inTables := slices.ContainsFunc(folder.files, func(file format.File) bool { return file.Was != nil })
	if inTables || len(folder.Places()) > 1 || !(Source{Project: imported, Path: s.Import.Path, Place: s.Import.Place}).sameWork(s) {
		return nil, nil
	}
	return readToWrite(s, dir, f)
}

// importDir returns the folder that a run was imported from.
func importDir(p *project.Project, s *pawl.State) string {
	if filepath.IsLocal(s.Import.Path) {
		return filepath.Join(p.Root, s.Import.Path)
	}
	return s.Import.Path
}

// unchangedSinceImport reports whether a run was imported from these files, has no event since, and agrees with them. It is
// false if a step was interrupted and the files hold no checkpoint for it: Write has to add one.
func unchangedSinceImport(ctx context.Context, p *project.Project, s *pawl.State, m Mirror) (bool, error) {
	if s.Import.System != m.Format.Name || s.Seq != s.Import.Seq {
		return false, nil
	}
	folder, err := OpenFolder(ctx, p, m.Format, m.Dir)
	if err != nil {
		return false, err
	}
	place, same := folder.ImportPlace(p, s)
	if !same {
		return false, nil
	}
	imported, _ := folder.Read(place)
	for _, phase := range imported.Phases {
		for _, step := range phase.Steps {
			if left := step.Status != pawl.Done && step.Status != pawl.Pending && !hasCheckpoint(imported, step.ID); left || (step.Status == pawl.Done) != s.Steps[step.ID].Finished() {
				return false, nil
			}
		}
	}
	return Source{Project: imported, Path: s.Import.Path, Place: s.Import.Place}.sameWork(s), nil
}

// ImportPlace returns the place in the folder that a run was imported from, and whether it was imported from this folder.
func (f *Folder) ImportPlace(p *project.Project, s *pawl.State) (place string, is bool) {
	if s.Import.System != f.format.Name {
		return "", false
	}
	from := filepath.Join(importDir(p, s), filepath.FromSlash(s.Import.Place))
	for _, place := range append(f.Places(), "") {
		if filepath.Join(f.dir, filepath.FromSlash(place)) == from {
			return place, true
		}
	}
	return "", false
}

// hasCheckpoint reports whether the files hold a valid checkpoint of a step.
func hasCheckpoint(imported format.Project, id pawl.StepID) bool {
	return slices.ContainsFunc(imported.Checkpoints, func(c format.Checkpoint) bool { return c.Step == id && c.Valid && c.Where != "" })
}

// mergeFiles returns the files to write to a new folder: the copies of source, replaced by written.
func mergeFiles(source format.Files, written []format.File) []format.File {
	all := slices.DeleteFunc(slices.Clone(source), func(f format.File) bool {
		return slices.ContainsFunc(written, func(w format.File) bool { return w.Path == f.Path })
	})
	for _, w := range written {
		if w.Data != nil || source.Find(w.Path) == nil {
			all = append(all, w)
		}
	}
	return all
}

// WrittenNames returns the names of the files that exist after a write. A file that was then moved to an archive is omitted.
func WrittenNames(written []format.File) []string {
	names := []string{}
	for _, f := range written {
		names = slices.DeleteFunc(names, func(name string) bool { return name == f.Path })
		if f.Data != nil {
			names = append(names, f.Path)
		}
	}
	return names
}
