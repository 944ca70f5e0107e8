// Package grid reads and writes the files of The Grid: a folder .grid with STATE.md, CHECKPOINT.md, WARMTH.md, plans and
// summaries, written by agents and people after a document, and never by a program.
//
// So it believes little of them. Ids are taken as they are written, since 08 is no number; finished work is found by its
// summaries, wherever they lie, and not by a counter; times may be local, missing or in the future; a file that is no
// YAML is read line by line. What only one file claims is said to be a claim.
//
// It writes a file only where what it says has changed, in the shape that the file has, and nothing else in it. What it
// has to replace goes to .grid/archive. The folders debug, refinement and daemon are never written.
package grid

import (
	"time"

	"pawl"
	"pawl/internal/interop/format"
)

// Codec reads and writes a project of The Grid.
var Codec format.Format = codec{}

type codec struct{ at string } // the cluster's folder; empty: the first

var (
	_ format.Historian = codec{}
	_ format.Plural    = codec{}
	_ format.Owner     = codec{}
	_ format.Archivist = codec{}
	_ format.Listener  = codec{}
)

func (codec) System() string { return "grid" }

// Unfinished returns the cluster, whatever it is called: STATE.md is of one run.
func (c codec) Unfinished(files format.Files, w format.Env, _ *pawl.Plan) (what, file string) {
	all := placed(files, c.at)
	if r, _ := c.Read(files, w.Now); r.Name != "" && r.Status != pawl.StatusCompleted && len(all) > 0 {
		return "cluster " + r.Name, all[0].grid + "STATE.md"
	}
	return "", ""
}

// Wants returns the patterns of its files: those of any folder .grid, of the clusters below it, and summaries that lie beside it.
func (codec) Wants() []string {
	return append(inClusters("*.md", "*.json", "STATE.md.tmp", "plans/*.md", "phases/*/*.md", "debug/*.md", "debug/*/session.md",
		"daemon/*/task.txt", "refinement/*/*.md", "refinement/*/*.json", "archive/*/WARMTH.md"), "*-SUMMARY.md")
}

// Archived returns the patterns of what was replaced.
func (codec) Archived() []string { return inClusters("archive/*/*") }

// inClusters returns the patterns of what lies in the folder of a cluster, wherever that is.
func inClusters(patterns ...string) []string {
	var all []string
	for _, pattern := range patterns {
		all = append(all, "**/.grid/"+pattern, "**/.grid/clusters/*/"+pattern)
	}
	return all
}

// Read reads without git: what was done after the last file was written is not known then.
func (c codec) Read(files format.Files, now time.Time) (format.Project, []pawl.Finding) {
	return c.ReadHistory(files, nil, now)
}

// Places returns the folders of the clusters, the outermost first.
func (codec) Places(files format.Files, _ time.Time) []string {
	var names []string
	for _, p := range places(files) {
		names = append(names, p.name())
	}
	return names
}

// At returns the codec of one of several clusters.
func (codec) At(place string) format.Format { return codec{at: place} }

// ReadHistory reads one cluster; where it is not named, the others are findings.
func (c codec) ReadHistory(files format.Files, log []format.Commit, now time.Time) (format.Project, []pawl.Finding) {
	r := read(files, c.at, log, now)
	return r.out, r.Found()
}

// tenMinutes is the age at which The Grid takes a session for dead, where it shows no sign of life.
const tenMinutes = 10 * time.Minute

// skew is how far clocks may differ before a time counts as one of the future.
const skew = 5 * time.Minute
