package engine

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"time"

	"pawl"
	"pawl/internal/foreign"
	"pawl/internal/project"
)

// Question returns what the system would ask before it goes on with what is there; nothing, where it does not ask.
func (f *ForeignFolder) Question() foreign.Question {
	asker, asks := f.codec.(foreign.Asker)
	if !asks {
		return foreign.Question{}
	}
	return asker.Question(f.files, f.world)
}

// Unfinished returns what is unfinished in the folder that a run of a plan would write over, and the file that says so;
// empty where nothing is.
func (f *ForeignFolder) Unfinished(plan *pawl.Plan) (what, file string) {
	owner, ok := f.codec.(foreign.Owner)
	if !ok {
		return "", ""
	}
	return owner.Unfinished(f.files, f.world, plan)
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
	runs, _ := Runs(p)
	for _, run := range runs {
		look(loadState(ctx, p, run))
	}
	archived, _ := Archived(p)
	for _, run := range archived {
		if r, err := LoadArchived(ctx, p, run); err == nil {
			look(r.State, r.Log.Close())
		}
	}
	return newest
}

// ArchiveForeign moves the state of a system that is below a folder to its own archive, and returns the archive's folders.
// No engine works in the project meanwhile (nil: the folder is in none): an error of KindHeld says which one does.
func ArchiveForeign(p *project.Project, codec foreign.Codec, dir string) (folders []string, err error) {
	asker, asks := codec.(foreign.Asker)
	if !asks {
		return nil, &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("%s has no archive to set its state aside in", codec.System())}
	}
	if p != nil {
		lock, held := lockImport(p)
		if held != nil {
			return nil, held
		}
		defer func() { err = errors.Join(err, lock.Unlock()) }()
	}
	files, err := readToWrite(nil, dir, codec)
	if err != nil {
		return nil, err
	}
	changed := asker.Aside(files, time.Now().UTC())
	if err := WriteForeign(dir, codec, files, changed); err != nil {
		return nil, err
	}
	folders = []string{}
	for _, f := range changed {
		if folder := path.Dir(f.Path); f.Data != nil && !slices.Contains(folders, folder) {
			folders = append(folders, folder)
		}
	}
	return folders, nil
}
