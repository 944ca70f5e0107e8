package gyoshu

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"pawl/internal/interop/format"
)

// pruneAll removes checkpoints of all runs of all researches, of each beyond the newest that are to be kept. The last good one
// always stays, and what was taken since. Of those that Gyoshu cannot load, which it never removes, all go that lie beside a
// good one.
func pruneAll(files format.Files, keep int, env format.Env) ([]format.File, error) {
	if keep < 1 {
		return nil, fmt.Errorf("keep %d checkpoints: at least 1 must stay", keep)
	}
	var gone []format.File
	for _, title := range titles(files) {
		r := newResearch(files, title, env)
		for _, run := range r.runs() {
			of := slices.DeleteFunc(slices.Clone(r.records), func(rec *Record) bool { return rec.Run != run })
			gone = append(gone, prune(files, of, keep, env)...)
		}
	}
	return gone, nil
}

// prune is pruneAll for a run's checkpoints.
func prune(files format.Files, records []*Record, keep int, env format.Env) []format.File {
	good := slices.IndexFunc(records, func(r *Record) bool { return r.good(env) })
	var gone []format.File
	for i, r := range slices.Backward(records) {
		if good < 0 || i <= good || r.Loads() && i < keep {
			continue
		}
		folder := path.Dir(r.Path)
		gone = append(append(gone, below(files, folder)...), format.File{Path: folder + "/"})
	}
	return gone
}

// good reports whether work can go on from a checkpoint.
func (r *Record) good(env format.Env) bool {
	return r.Loads() && !r.Manifest.Status.unsafe() && len(r.faults(env)) == 0
}

// below returns the files in a folder, as ones to be removed.
func below(files format.Files, folder string) []format.File {
	var found []format.File
	for _, f := range files {
		if strings.HasPrefix(f.Path, folder+"/") {
			found = append(found, format.File{Path: f.Path})
		}
	}
	return found
}
