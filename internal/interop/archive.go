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

// ArchiveForeign moves the state of a system that is below a folder to its own archive, and returns the archive's folders.
// No engine works in the project meanwhile (nil: the folder is in none), and no other pawl writes such files: an error of
// KindHeld says which engine does.
func ArchiveForeign(p *project.Project, codec format.Format, dir string) (folders []string, err error) {
	if codec.Archive == nil {
		return nil, &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("%s has no archive to set its state aside in", codec.Name)}
	}
	if p != nil {
		lock, held := lockImport(p)
		if held != nil {
			return nil, held
		}
		defer func() { err = errors.Join(err, lock.Unlock()) }()
	}
	var changed []format.File
	err = mirroring(p, func() error {
		files, err := readToWrite(nil, dir, codec)
		if err != nil {
			return err
		}
		changed = codec.Archive(files, time.Now().UTC())
		_, err = WriteForeign(dir, codec, files, changed)
		return err
	})
	if err != nil {
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
