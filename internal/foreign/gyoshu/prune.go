package gyoshu

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"pawl/internal/foreign"
)

// Prune lets go of checkpoints of all runs of all researches, of each beyond the newest that are to be kept. The last good one
// always stays, and what was taken since. Of those that Gyoshu cannot load, which it never removes, all go that lie beside a
// good one.
func (codec) Prune(files foreign.Files, keep int, w foreign.World) ([]foreign.File, error) {
	if keep < 1 {
		return nil, fmt.Errorf("keep %d checkpoints: at least 1 must stay", keep)
	}
	var gone []foreign.File
	for _, title := range titles(files) {
		r := newResearch(files, title, w)
		for _, run := range r.runs() {
			of := slices.DeleteFunc(slices.Clone(r.records), func(rec *Record) bool { return rec.Run != run })
			gone = append(gone, prune(files, of, keep, w)...)
		}
	}
	return gone, nil
}

// prune is Prune of a run's checkpoints.
func prune(files foreign.Files, records []*Record, keep int, w foreign.World) []foreign.File {
	good := slices.IndexFunc(records, func(r *Record) bool { return r.good(w) })
	var gone []foreign.File
	for i, r := range slices.Backward(records) {
		if good < 0 || i <= good || r.Loads() && i < keep {
			continue
		}
		folder := path.Dir(r.Path)
		gone = append(append(gone, below(files, folder)...), foreign.File{Path: folder + "/"})
	}
	return gone
}

// good reports whether work can go on from a checkpoint.
func (r *Record) good(w foreign.World) bool {
	return r.Loads() && !r.Manifest.Status.unsafe() && len(r.Manifest.Issues(r.From.Trust(), w)) == 0
}

// below returns the files in a folder, as ones to be removed.
func below(files foreign.Files, folder string) []foreign.File {
	var found []foreign.File
	for _, f := range files {
		if strings.HasPrefix(f.Path, folder+"/") {
			found = append(found, foreign.File{Path: f.Path})
		}
	}
	return found
}
