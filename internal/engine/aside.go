package engine

import (
	"fmt"
	"path"
	"slices"
	"time"

	"pawl"
	"pawl/internal/foreign"
)

// Question returns what the system would ask before it goes on with what is there; nothing, where it does not ask.
func (f *ForeignFolder) Question() foreign.Question {
	asker, asks := f.codec.(foreign.Asker)
	if !asks {
		return foreign.Question{}
	}
	return asker.Question(f.files, f.world)
}

// ArchiveForeign moves the state of a system that is below a folder to its own archive, and returns the archive's folders.
func ArchiveForeign(codec foreign.Codec, dir string) ([]string, error) {
	asker, asks := codec.(foreign.Asker)
	if !asks {
		return nil, &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("%s has no archive to set its state aside in", codec.System())}
	}
	files, err := readToWrite(nil, dir, codec)
	if err != nil {
		return nil, err
	}
	changed := asker.Aside(files, time.Now().UTC())
	if err := WriteForeign(dir, codec, changed); err != nil {
		return nil, err
	}
	folders := []string{}
	for _, f := range changed {
		if folder := path.Dir(f.Path); f.Data != nil && !slices.Contains(folders, folder) {
			folders = append(folders, folder)
		}
	}
	return folders, nil
}
