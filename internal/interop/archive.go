package interop

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"time"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/project"
)

// Archive moves the state of a system in dir to the system's own archive, and returns the folders of the archive. It keeps
// engines out of the project, and other pawl processes from writing such files; a nil p means that dir is in no project. If
// an engine runs, the error is of KindHeld and names it.
func Archive(p *project.Project, f format.Format, dir string) (folders []string, err error) {
	if f.Archive == nil {
		return nil, &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("%s has no archive", f.Name)}
	}
	if p != nil {
		lock, held := lockImport(p)
		if held != nil {
			return nil, held
		}
		defer func() { err = errors.Join(err, lock.Unlock()) }()
	}
	var changed []format.File
	err = withMirrorLock(p, func() error {
		files, err := readToWrite(nil, dir, f)
		if err != nil {
			return err
		}
		changed = f.Archive(files, time.Now().UTC())
		_, err = writeFiles(dir, f, files, changed)
		return err
	})
	if err != nil {
		return nil, err
	}
	folders = []string{}
	for _, file := range changed {
		if folder := path.Dir(file.Path); file.Data != nil && !slices.Contains(folders, folder) {
			folders = append(folders, folder)
		}
	}
	return folders, nil
}
