// Package gyoshu reads and writes what Gyoshu (My-Jogyo) keeps of a research: manifests of checkpoints, notebooks, the
// state of its loop, queues, locks and reports.
//
// A manifest is believed as far as its hash, its artifacts and its place go, and never in what it says of its own
// trustworthiness; code that it brings along is never executed, but made anew from what it names. A checkpoint that was
// taken in the middle of a stage is information: it is never a base to resume from, and never moves the position.
package gyoshu

import (
	"path"
	"slices"
	"time"

	"pawl"
	"pawl/internal/interop/format"
)

// System is the name of the system.
const System = "gyoshu"

// New returns the codec.
func New() format.Format { return codec{} }

type codec struct{ title string } // of the research; empty: the one that something happened to last

var (
	_ format.Witness = codec{}
	_ format.Plural  = codec{}
	_ format.Owner   = codec{}
	_ format.Pruner  = codec{}
	_ format.Refuser = codec{}
	_ format.Locker  = codec{}

	_ format.Prescriber = codec{}
)

// System returns its name.
func (codec) System() string { return System }

// Wants names the files that are read. Artifacts are not among them: they can be large, and World has their hashes.
func (codec) Wants() []string {
	return []string{"notebooks/*.ipynb", "reports/*/checkpoints/*/*/checkpoint.json", "reports/*/auto/loop-state.json",
		"reports/*/queue/*.json", "reports/*/README.md"}
}

// Read reads the newest run of the research that something happened to last. Of artifacts that are not among the files
// nothing is known, and nothing is held against them: see ReadIn.
func (c codec) Read(files format.Files, now time.Time) (format.Project, []pawl.Finding) {
	return c.ReadIn(files, within(files, now))
}

// Places returns the folders of the researches, the one that something happened to last first.
func (codec) Places(files format.Files, now time.Time) []string {
	var names []string
	for _, r := range newestFirstOf(files, format.Env{Now: now}) {
		names = append(names, path.Join(reports, r.title))
	}
	return names
}

// At returns the codec of one of several researches.
func (codec) At(place string) format.Format { return codec{title: path.Base(place)} }

// Unfinished returns the research that a plan's run would be another run of, where its newest one has not ended.
func (codec) Unfinished(files format.Files, w format.Env, plan *pawl.Plan) (what, file string) {
	title := titleOf(plan.Name)
	if !slices.Contains(titles(files), title) {
		return "", ""
	}
	r, _ := ReadRun(files, title, "", w)
	if r.Status == pawl.StatusCompleted || r.Status == pawl.StatusFailed {
		return "", ""
	}
	return "research " + title, notebookPath(title)
}

// newestFirstOf reads all researches.
func newestFirstOf(files format.Files, w format.Env) []*research {
	var all []*research
	for _, title := range titles(files) {
		all = append(all, newResearch(files, title, w))
	}
	slices.SortStableFunc(all, func(a, b *research) int { return b.activity("").Compare(a.activity("")) })
	return all
}

// ReadIn is Read with artifacts looked at: what they do not prove is not done, and is not resumed from.
func (c codec) ReadIn(files format.Files, w format.Env) (format.Project, []pawl.Finding) {
	if c.title != "" {
		return ReadRun(files, c.title, "", w)
	}
	all := newestFirstOf(files, w)
	if len(all) == 0 {
		return format.Project{System: System}, nil
	}
	reading, found := read(all[0], "", w)
	for _, r := range all[1:] {
		found = append(found, pawl.Finding{Level: pawl.Warn, Where: r.title, Hint: "pawl import gyoshu " + path.Join(reports, r.title),
			What: "this research is here too, and is not read: something happened to " + all[0].title + " later"})
	}
	return reading, found
}

// ReadRun is ReadIn of one run of one research; "" is its newest.
func ReadRun(files format.Files, title, run string, w format.Env) (format.Project, []pawl.Finding) {
	return read(newResearch(files, title, w), run, w)
}

// Verify validates all checkpoints of all researches, or of the one that is named, and what else is known of them.
func (c codec) Verify(files format.Files, w format.Env) []pawl.Finding {
	var found []pawl.Finding
	for _, title := range titles(files) {
		if c.title != "" && title != c.title {
			continue
		}
		r := newResearch(files, title, w)
		found = append(found, r.examine(w)...)
		found = append(found, r.examineResume(w))
	}
	return found
}
