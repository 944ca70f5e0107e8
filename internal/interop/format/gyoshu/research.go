package gyoshu

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/markers"
)

// research is all that the files say of one title.
type research struct {
	title    string
	now      time.Time
	files    format.Files
	notebook *Notebook // nil: there is none that can be read
	loop     *Loop
	records  []*Record         // of all runs
	queues   map[string]*Queue // by run
	newest   string            // run
	found    []pawl.Finding
}

// titles returns the researches of a project, by name.
func titles(files format.Files) []string {
	found := map[string]bool{}
	for _, f := range files {
		part := strings.Split(f.Path, "/")
		if title, isNotebook := strings.CutSuffix(part[len(part)-1], ".ipynb"); part[0] == notebooks && len(part) == 2 && isNotebook {
			found[title] = true
		}
		if part[0] == reports && len(part) > 2 {
			found[part[1]] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// newResearch reads what the files say of a title. What cannot be read is a finding.
func newResearch(files format.Files, title string, env format.Env) *research {
	r := &research{title: title, now: env.Now, files: files, records: Records(files, title, ""), queues: map[string]*Queue{}}
	r.records = append(r.records, recordsAt(env.Unread, title)...)
	if issue := CheckSegment("reportTitle", title); issue != "" {
		r.found = append(r.found, pawl.Finding{Level: pawl.Bad, What: issue, Where: path.Join(reports, title)})
	}
	var err error
	if file := files.Find(notebookPath(title)); file != nil {
		if r.notebook, err = ReadNotebook(file.Data); err != nil {
			r.unreadable(file.Path, err)
		}
	}
	if file := files.Find(loopPath(title)); file != nil {
		if r.loop, err = ReadLoop(file.Data); err != nil {
			r.unreadable(file.Path, err)
		}
	}
	r.readQueues()
	r.newest = r.findNewest()
	r.findOrigins(env)
	return r
}

func (r *research) readQueues() {
	for _, file := range r.files {
		folder, name := path.Split(file.Path)
		run, isQueue := strings.CutSuffix(name, ".json")
		if folder != path.Join(reports, r.title, "queue")+"/" || !isQueue {
			continue
		}
		q, err := ReadQueue(file.Data)
		if err != nil {
			r.unreadable(file.Path, err)
			continue
		}
		r.queues[run] = q
	}
}

func (r *research) unreadable(path string, err error) {
	f := &findings{path: path}
	f.broken(err)
	r.found = append(r.found, f.list...)
}

func (r *research) front() *FrontMatter {
	if r.notebook == nil {
		return nil
	}
	return r.notebook.Front
}

// activity is when something of a run, or of the research, was written last. Times that have not come yet are passed over.
func (r *research) activity(run string) time.Time {
	var last time.Time
	note := func(at time.Time) {
		if at.After(last) && !at.After(r.now) {
			last = at
		}
	}
	for _, rec := range r.records {
		if rec.Manifest != nil && (run == "" || rec.Run == run) {
			note(rec.Manifest.Time())
		}
	}
	if f := r.front(); f != nil {
		if run == "" {
			note(f.Created)
			note(f.Updated)
		}
		for _, e := range f.Runs {
			if run == "" || e.ID == run {
				note(e.Started)
				note(e.Ended)
			}
		}
	}
	if r.notebook != nil && (run == "" || run == r.newest) {
		for i := range r.notebook.Cells {
			note(r.notebook.Cells[i].Time)
		}
	}
	return last
}

// runs returns the runs of the research that the files know, by name.
func (r *research) runs() []string {
	found := map[string]bool{}
	for _, rec := range r.records {
		found[rec.Run] = true
	}
	if f := r.front(); f != nil {
		for _, e := range f.Runs {
			found[e.ID] = true
		}
	}
	if r.loop != nil {
		found[r.loop.Run] = true
	}
	for run := range r.queues {
		found[run] = true
	}
	delete(found, "")
	return slices.Sorted(maps.Keys(found))
}

// findNewest returns the run that something happened to last: that has the newest checkpoint, or was begun or ended last.
func (r *research) findNewest() string {
	last := map[string]time.Time{}
	for _, rec := range r.records {
		if rec.Loads() && rec.Manifest.Time().After(last[rec.Run]) && !rec.Manifest.Time().After(r.now) {
			last[rec.Run] = rec.Manifest.Time()
		}
	}
	newest := ""
	for _, run := range r.runs() {
		if begun := r.begun(run); begun.After(last[run]) {
			last[run] = begun
		}
		if newest == "" || last[run].After(last[newest]) || last[run].Equal(last[newest]) && r.loop != nil && r.loop.Run == run {
			newest = run
		}
	}
	return newest
}

// begun returns when a run began, or ended, as the notebook says.
func (r *research) begun(run string) time.Time {
	e := r.front().run(run)
	if e == nil {
		return time.Time{}
	}
	if e.Ended.After(e.Started) && !e.Ended.After(r.now) {
		return e.Ended
	}
	return e.Started
}

// cellMarker is a marker with the cell that printed it.
type cellMarker struct {
	pawl.Marker
	cell *Cell
}

// markers returns what the cells of a run printed that is a marker, in their order.
func (r *research) markers(run string) []cellMarker {
	if r.notebook == nil {
		return nil
	}
	var list []cellMarker
	for i, of := range r.runOfCells() {
		c := &r.notebook.Cells[i]
		if of != run {
			continue
		}
		for _, m := range markers.ParseAll(c.Stdout) {
			list = append(list, cellMarker{m, c})
		}
	}
	return list
}

// runOfCells says which run each cell belongs to: to that which had begun when it was written, else to that of the next
// checkpoint behind it, else to the newest.
func (r *research) runOfCells() []string {
	cells := r.notebook.Cells
	of := make([]string, len(cells))
	next := r.newest
	for i := range slices.Backward(cells) {
		c := &cells[i]
		if rec, ok := placeOf(c.Pointer.Manifest); ok && rec.Title == r.title {
			next = rec.Run
		}
		of[i] = cmp.Or(r.runAt(c.Time), next)
	}
	return of
}

// runAt returns the run that had begun last at a time, "" where nobody says.
func (r *research) runAt(at time.Time) string {
	if f := r.front(); f != nil && !at.IsZero() {
		for _, e := range slices.Backward(f.Runs) {
			if !e.Started.IsZero() && !e.Started.After(at) {
				return e.ID
			}
		}
	}
	return ""
}
