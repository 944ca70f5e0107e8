package engine

import (
	"context"
	"fmt"
	"path"
	"slices"
	"time"

	"pawl"
	"pawl/internal/foreign"
)

// QuestionOf returns what a system would ask before it goes on with what is below a folder; nothing, where it does not ask.
func QuestionOf(ctx context.Context, codec foreign.Codec, dir string) (foreign.Question, error) {
	asker, asks := codec.(foreign.Asker)
	if !asks {
		return foreign.Question{}, nil
	}
	files, _, err := ReadForeign(dir, codec)
	if err != nil {
		return foreign.Question{}, err
	}
	commits, _ := commitsIn(ctx, dir) // without them less is proven, and it is asked all the same
	return asker.Question(files, worldOf(dir, commits)), nil
}

// ArchiveForeign moves the state of a system that is below a folder to its own archive, and returns the archive's folders.
func ArchiveForeign(codec foreign.Codec, dir string) ([]string, error) {
	asker, asks := codec.(foreign.Asker)
	if !asks {
		return nil, &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("%s has no archive to set its state aside in", codec.System())}
	}
	files, _, err := ReadForeign(dir, codec)
	if err != nil {
		return nil, err
	}
	changed := asker.Aside(files, time.Now().UTC())
	if err := WriteForeign(dir, changed); err != nil {
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
