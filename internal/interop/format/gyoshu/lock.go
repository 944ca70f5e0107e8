package gyoshu

import (
	"slices"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/sessionlock"
)

// locks returns the locks of notebook, report and queue of a run's research or, without a run, those of all researches and
// their sessions.
func locks(files format.Files, run *pawl.State, folder string) []string {
	if run != nil {
		return locksOf(folder, titleOf(run.Name), []string{string(run.Run), run.Import.ID})
	}
	var all []string
	for _, title := range titles(files) {
		r := newResearch(files, title, format.Env{})
		all = append(all, locksOf(folder, title, r.runs())...)
		for _, session := range r.sessions() {
			all = append(all, sessionlock.Session(folder, session))
		}
	}
	return all
}

func locksOf(folder, title string, runs []string) []string {
	locks := []string{sessionlock.Notebook(folder, title), sessionlock.Report(folder, title)}
	for _, run := range runs {
		if run != "" {
			locks = append(locks, sessionlock.Queue(folder, title, run))
		}
	}
	return locks
}

// sessions returns the sessions in the files of a research.
func (r *research) sessions() []string {
	var ids []string
	if r.loop != nil {
		ids = append(ids, r.loop.Session)
	}
	for _, rec := range r.records {
		if rec.Manifest != nil {
			ids = append(ids, rec.Manifest.Session)
		}
	}
	slices.Sort(ids)
	return slices.DeleteFunc(slices.Compact(ids), func(id string) bool { return id == "" })
}
