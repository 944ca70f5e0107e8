// Package grid reads and writes the files of The Grid: a folder .grid with STATE.md, CHECKPOINT.md, WARMTH.md, plans and
// summaries, written by agents and people who follow a document, never by a program.
//
// So it trusts little of them. Ids are kept as they are written, since 08 is not a number; finished work is found by its
// summaries, wherever they are, and not by a counter; times may be local, missing or in the future; invalid YAML is read line by
// line. What only one file claims is reported as a claim.
//
// It edits a file in place and in its own style, only where its content has to change. What it has to replace goes to
// .grid/archive. The folders debug, refinement and daemon are never written.
package grid

import (
	"time"

	"pawl"
	"pawl/internal/interop/format"
)

// Format reads and writes a project of The Grid: the first of its clusters.
func Format() format.Format { return scope{}.format() }

// scope is the cluster that is read and written.
type scope struct{ at string } // its folder; empty: the first

func (s scope) format() format.Format {
	return format.Format{
		Name: "grid", Patterns: patterns(), Archived: inClusters("archive/*/*"), Read: s.read, Write: s.write, Verify: s.verify,
		Places: clusterNames, At: func(place string) format.Format { return scope{at: place}.format() },
		Unfinished: s.unfinished, Answers: s.answers, CheckCriterion: s.checkCriterion, Criteria: s.criteriaOf, Asks: s.asks, Records: s.records,
	}
}

// unfinished returns the cluster, whatever its name: STATE.md belongs to one run.
func (s scope) unfinished(files format.Files, env format.Env, _ *pawl.Plan) (what, file string) {
	all := selectedDirs(files, s.at)
	if r, _ := s.read(files, format.Env{Now: env.Now}); r.Name != "" && r.Status != pawl.StatusCompleted && len(all) > 0 {
		return "cluster " + r.Name, all[0].grid + "STATE.md"
	}
	return "", ""
}

// patterns returns those of its files: in any folder .grid, in the clusters below it, and summaries next to it.
func patterns() []string {
	return append(inClusters("*.md", "*.json", "STATE.md.tmp", "plans/*.md", "phases/*/*.md", "debug/*.md", "debug/*/session.md",
		"daemon/*/task.txt", "refinement/*/*.md", "refinement/*/*.json", "archive/*/WARMTH.md"), "*-SUMMARY.md")
}

// inClusters returns patterns of files in the folder of a cluster, wherever that is.
func inClusters(patterns ...string) []string {
	var all []string
	for _, pattern := range patterns {
		all = append(all, "**/.grid/"+pattern, "**/.grid/clusters/*/"+pattern)
	}
	return all
}

// clusterNames returns the folders of the clusters, the outermost first.
func clusterNames(files format.Files, _ time.Time) []string {
	var names []string
	for _, p := range clusterDirs(files) {
		names = append(names, p.name())
	}
	return names
}

// read reads one cluster; if none is selected, the others are findings. Without commits it does not know what was done after
// the last file was written.
func (s scope) read(files format.Files, env format.Env) (format.Project, []pawl.Finding) {
	r := readCluster(files, s.at, env)
	return r.out, r.Findings()
}

// tenMinutes is the silence after which The Grid considers a session dead.
const sessionTimeout = 10 * time.Minute

// skew is the clock difference up to which a time does not count as in the future.
const clockSkew = 5 * time.Minute
