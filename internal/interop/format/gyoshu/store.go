package gyoshu

import (
	"cmp"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/interop/format"
)

// Record is a checkpoint as it lies in a project.
type Record struct {
	Path           string
	Title, Run, ID string // by its place
	Manifest       *Manifest
	Problems       []pawl.Finding // because of which Gyoshu does not load it
	From           Provenance
}

// Loads reports whether Gyoshu sees the checkpoint at all.
func (r *Record) Loads() bool { return r.Manifest != nil && len(r.Problems) == 0 }

// faults says what is wrong with a checkpoint that Gyoshu loads: with the names of its folders, and with its manifest.
func (r *Record) faults(env format.Env) []string {
	var faults []string
	for _, n := range []struct{ name, lies, says string }{{"runId", r.Run, r.Manifest.Run}, {"checkpointId", r.ID, r.Manifest.CheckpointID}} {
		if issue := CheckSegment(n.name, n.lies); issue != "" && n.lies != n.says {
			faults = append(faults, issue)
		}
	}
	return append(faults, r.Manifest.Issues(r.From.Trust(), env)...)
}

// Records returns the checkpoints of a title, of one run or with "" of all: those that Gyoshu loads, the newest first and
// of the same time those first that come last by id, then the others by path. With "" for a title it returns those of all.
func Records(files format.Files, title, run string) []*Record {
	var found []*Record
	for i := range files {
		r, ok := placeOf(files[i].Path)
		if !ok || title != "" && r.Title != title || run != "" && r.Run != run {
			continue
		}
		r.Manifest, r.Problems = ReadManifest(r.Path, files[i].Data)
		found = append(found, r)
	}
	slices.SortFunc(found, newestFirst)
	return found
}

func newestFirst(a, b *Record) int {
	switch {
	case a.Loads() && b.Loads():
		return cmp.Or(b.Manifest.Time().Compare(a.Manifest.Time()), cmp.Compare(b.ID, a.ID), cmp.Compare(a.Path, b.Path))
	case a.Loads():
		return -1
	case b.Loads():
		return 1
	}
	return cmp.Compare(a.Path, b.Path)
}

// placeOf says which checkpoint a path is the manifest of.
func placeOf(name string) (*Record, bool) {
	part := strings.Split(name, "/")
	if len(part) != 6 || part[0] != reports || part[2] != "checkpoints" || part[5] != "checkpoint.json" {
		return nil, false
	}
	return &Record{Path: name, Title: part[1], Run: part[3], ID: part[4]}, true
}
