// Package gyoshu reads and writes what Gyoshu (My-Jogyo) keeps of a research: manifests of checkpoints, notebooks, the
// state of its loop, queues, locks and reports.
//
// A manifest is trusted as far as its hash, its artifacts and its path confirm it, and never for what it states about its own
// trust level. Code in a manifest is never executed: pawl generates its own from the artifacts. A checkpoint from the middle of a
// stage is information only: no run resumes from it, and it never moves the position.
package gyoshu

import (
	"path"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/shellwords"
)

// System is the name of the system.
const System = "gyoshu"

// Format reads and writes the newest run of the research with the newest activity.
func Format() format.Format { return scope{}.format() }

// scope is what is read and verified.
type scope struct {
	title string // of the research; empty: the one with the newest activity
	run   string // id of the run, or a unique prefix; empty: the newest
}

func (s scope) format() format.Format {
	return format.Format{
		Name: System, Patterns: patterns(), Read: s.read, Write: write, Verify: s.verify,
		Places: places, At: func(place string) format.Format { return scope{title: path.Base(place), run: s.run}.format() },
		Projects: s.runs, Select: func(run string) format.Format { return scope{title: s.title, run: run}.format() },
		Unfinished: unfinished, Refuses: refuses, Preconditions: preconditions, Prune: pruneAll, Private: []string{"reports/*/checkpoints/*/*/checkpoint.json"},
		CheckCriterion: s.checkCriterion, Criteria: s.criteriaOf, Locks: locks,
	}
}

// patterns returns the patterns of its files. Artifacts are not read: they can be large, and Env has their hashes.
func patterns() []string {
	return []string{"notebooks/*.ipynb", "reports/*/checkpoints/*/*/checkpoint.json", "reports/*/auto/loop-state.json",
		"reports/*/queue/*.json", "reports/*/README.md"}
}

// places returns the folders of the researches, the one with the newest activity first.
func places(files format.Files, now time.Time) []string {
	var names []string
	for _, r := range newestFirstOf(files, format.Env{Now: now}) {
		names = append(names, path.Join(reports, r.title))
	}
	return names
}

// unfinished returns the research to which a run of the plan would belong, if its newest run has not ended.
func unfinished(files format.Files, env format.Env, plan *pawl.Plan) (what, file string) {
	title := titleOf(plan.Name)
	if !slices.Contains(titles(files), title) {
		return "", ""
	}
	r, _ := ReadRun(files, title, "", env)
	if r.Status == pawl.StatusCompleted || r.Status == pawl.StatusFailed {
		return "", ""
	}
	return "research " + title, notebookPath(title)
}

// newestFirstOf reads all researches, those with the newest activity first.
func newestFirstOf(files format.Files, env format.Env) []*research {
	var all []*research
	for _, title := range titles(files) {
		all = append(all, newResearch(files, title, env))
	}
	slices.SortStableFunc(all, func(a, b *research) int { return b.activity("").Compare(a.activity("")) })
	return all
}

// read reads the newest run of a research. A stage whose artifacts do not match their hashes is not done, and is not resumed
// from. Without env.Hash only the artifacts among the files are checked.
func (s scope) read(files format.Files, env format.Env) (format.Project, []pawl.Finding) {
	if env.Hash == nil {
		env.Hash = hashAmong(files)
	}
	if s.run != "" {
		return s.readRun(files, env)
	}
	if s.title != "" {
		return ReadRun(files, s.title, "", env)
	}
	all := newestFirstOf(files, env)
	if len(all) == 0 {
		return format.Project{System: System}, nil
	}
	reading, found := read(all[0], "", env)
	for _, r := range all[1:] {
		found = append(found, pawl.Finding{Level: pawl.Warn, Where: r.title, Hint: "pawl import gyoshu " + shellwords.Word(path.Join(reports, r.title)),
			What: "this research exists too, and is not read: " + all[0].title + " has newer activity"})
	}
	return reading, found
}

// runs returns the ids of the runs, those of the research with the newest activity first.
func (s scope) runs(files format.Files) []string {
	var ids []string
	for _, r := range newestFirstOf(files, format.Env{}) {
		if s.title == "" || r.title == s.title {
			ids = append(ids, r.runs()...)
		}
	}
	return ids
}

// readRun reads the run with the id or unique id prefix of the scope. The Project is empty if there is no such run.
func (s scope) readRun(files format.Files, env format.Env) (format.Project, []pawl.Finding) {
	var in *research
	id, exact, matches := "", false, 0
	for _, r := range newestFirstOf(files, env) {
		if s.title != "" && r.title != s.title {
			continue
		}
		for _, run := range r.runs() {
			if exact || !strings.HasPrefix(run, s.run) {
				continue
			}
			in, id, exact = r, run, run == s.run
			matches++
		}
	}
	if !exact && matches != 1 {
		return format.Project{System: System}, nil
	}
	return read(in, id, env)
}

// ReadRun reads one run of one research; "" is its newest.
func ReadRun(files format.Files, title, run string, env format.Env) (format.Project, []pawl.Finding) {
	return read(newResearch(files, title, env), run, env)
}

// verify validates all checkpoints of all researches, or of the selected one, and their other files.
func (s scope) verify(files format.Files, env format.Env) []pawl.Finding {
	var found []pawl.Finding
	for _, title := range titles(files) {
		if s.title != "" && title != s.title {
			continue
		}
		r := newResearch(files, title, env)
		found = append(found, r.examine(env)...)
		found = append(found, r.examineResume(env))
	}
	return found
}
