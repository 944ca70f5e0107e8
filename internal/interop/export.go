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

// Export writes the files of another system that differ from how they are to be for a run, as mirrorOver does, and returns
// them; dry: it only returns them. Where nothing of the system is yet they begin with those that the run was made of, as they
// stand now: what they say and pawl does not know is not forgotten, and nothing is made up in its place. Where they cannot be
// read, the run's notes say so. Those that it was made of stay as they are as long as nothing has happened in it that they do
// not say.
func Export(ctx context.Context, p *project.Project, r *runs.Run, m Mirror, cfg config.Snapshots, engine, dry bool) (written []format.File, err error) {
	var unread error
	over := func(files format.Files) ([]format.File, error) {
		var source format.Files
		if len(files) == 0 {
			source, unread = madeFrom(ctx, p, r.State, m.Codec)
		} else if same, err := asFound(ctx, p, r.State, m); same || err != nil {
			return nil, err
		}
		return copied(source, mirrorOver(ctx, p, r, m, cfg, format.Exported, engine, slices.Concat(files, source))), nil
	}
	if dry {
		var files format.Files
		if files, err = readToWrite(r.State, m.Dir, m.Codec); err == nil {
			written, err = over(files)
		}
	} else {
		err = p.WithMirrorLock(func() error {
			written, err = m.put(p, r.State, over)
			return err
		})
		r.Notes = append(r.Notes, MadeAnew(written)...)
	}
	if unread != nil {
		r.Notes = append(r.Notes, fmt.Sprintf("the files that run %s was made of could not be read, and do not go along: %v", r.State.Run, unread))
	}
	return written, err
}

// madeFrom returns the files that a run was made of, if they still speak of its work, and of it alone; none for what is kept
// in databases.
func madeFrom(ctx context.Context, p *project.Project, s *pawl.State, codec format.Format) (format.Files, error) {
	if s.Import.System != codec.Name {
		return nil, nil
	}
	dir := importDir(p, s)
	folder, err := OpenForeign(ctx, p, codec, dir)
	if err != nil {
		return nil, err
	}
	if unread := folder.Unread(); len(unread) > 0 {
		return nil, fmt.Errorf("%s: %s", unread[0].Where, unread[0].What)
	}
	if len(folder.files) == 0 {
		return nil, fmt.Errorf("there are none in %s", dir)
	}
	reading, _ := folder.Read(s.Import.Place)
	inTables := slices.ContainsFunc(folder.files, func(f format.File) bool { return f.Was != nil })
	if inTables || len(folder.Places()) > 1 || !(Importing{Project: reading, Path: s.Import.Path, Place: s.Import.Place}).made(s) {
		return nil, nil
	}
	return readToWrite(s, dir, codec)
}

// importDir returns the folder that a run was made of.
func importDir(p *project.Project, s *pawl.State) string {
	if filepath.IsLocal(s.Import.Path) {
		return filepath.Join(p.Root, s.Import.Path)
	}
	return s.Import.Path
}

// asFound reports whether a run was made of a folder's files, nothing has happened in it since, and it holds for true what
// they say. Where they were left in the middle of a step, and have no checkpoint of it, how to go on there is still to be
// written.
func asFound(ctx context.Context, p *project.Project, s *pawl.State, m Mirror) (bool, error) {
	if s.Import.System != m.Codec.Name || s.Seq != s.Import.Seq {
		return false, nil
	}
	folder, err := OpenForeign(ctx, p, m.Codec, m.Dir)
	if err != nil {
		return false, err
	}
	place, same := folder.MadeAt(p, s)
	if !same {
		return false, nil
	}
	reading, _ := folder.Read(place)
	for _, phase := range reading.Phases {
		for _, step := range phase.Steps {
			if left := step.Status != pawl.Done && step.Status != pawl.Pending && !savedIn(reading, step.ID); left || (step.Status == pawl.Done) != s.Steps[step.ID].Finished() {
				return false, nil
			}
		}
	}
	return Importing{Project: reading, Path: s.Import.Path, Place: s.Import.Place}.made(s), nil
}

// MadeAt returns at which of the folder's places the files are that a run was made of, and whether they are in it.
func (f *ForeignFolder) MadeAt(p *project.Project, s *pawl.State) (place string, is bool) {
	if s.Import.System != f.codec.Name {
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

// savedIn reports whether a checkpoint that stands in the files says how to go on with a step.
func savedIn(reading format.Project, id pawl.StepID) bool {
	return slices.ContainsFunc(reading.Checkpoints, func(c format.Checkpoint) bool { return c.Step == id && c.Valid && c.Where != "" })
}

// copied returns what is to be written where files are yet to be copied, and then changed.
func copied(source format.Files, written []format.File) []format.File {
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
