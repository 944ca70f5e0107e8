package gyoshu

import (
	"fmt"
	"slices"

	"pawl"
	"pawl/internal/interop/format"
)

// examine finds all that is wrong with a research, and what is sound. w says what is true of the artifacts.
func (r *research) examine(env format.Env) []pawl.Finding {
	found := slices.Clone(r.found)
	for _, rec := range r.records {
		found = append(found, r.examineRecord(rec, env)...)
	}
	found = append(found, r.examineCells()...)
	for _, run := range r.runs() {
		found = append(found, r.examineQueue(run)...)
	}
	return append(found, r.examineFront()...)
}

func (r *research) examineRecord(rec *Record, env format.Env) []pawl.Finding {
	f := &findings{path: rec.Path}
	if !rec.Loads() {
		f.add(pawl.Bad, 0, "Manifest failed to parse or validate", "")
		f.list[0].Evidence = "Gyoshu passes over checkpoint " + rec.ID + " without a word"
		f.list = append(f.list, rec.Problems...)
		f.examineTwins(rec.Manifest)
		return f.list
	}
	m := rec.Manifest
	f.examineTwins(m)
	issues := rec.faults(env)
	for _, issue := range issues {
		f.bad(0, "%s", issue)
	}
	f.examineNames(rec)
	if m.Time().After(r.now) {
		f.warn(0, "its creation time %s is in the future", m.Created)
	}
	if m.Trust == Imported || m.Trust == Untrusted {
		f.warn(0, "its own trust level is %s: verify its source before resuming", m.Trust)
	}
	switch {
	case len(issues) > 0:
	case m.Status.unsafe():
		f.add(pawl.OK, 0, fmt.Sprintf("checkpoint %s was taken in the middle of stage %s (%s): it cannot be resumed from", m.CheckpointID, m.Stage, m.Reason), "")
	default:
		f.add(pawl.OK, 0, fmt.Sprintf("checkpoint %s after stage %s is valid, with %d artifacts", m.CheckpointID, m.Stage, len(m.Artifacts)), "")
	}
	return f.list
}

// mostTwins is how many keys are told of that come twice in a manifest.
const mostTwins = 20

// examineTwins finds keys that come twice: as JSON is read, the last one counts.
func (f *findings) examineTwins(m *Manifest) {
	if m == nil {
		return
	}
	for _, twin := range m.twins[:min(len(m.twins), mostTwins)] {
		f.warn(twin.Value.Line(), "duplicate key %q; this one is used", twin.Key)
	}
}

// examineNames finds a manifest that is not where it says that it is, and a notebook that is nowhere.
func (f *findings) examineNames(rec *Record) {
	m := rec.Manifest
	for _, n := range []struct{ name, says, lies string }{
		{"reportTitle", m.Title, rec.Title}, {"runId", m.Run, rec.Run}, {"checkpointId", m.CheckpointID, rec.ID},
	} {
		if n.says != n.lies {
			f.warn(0, "%s is %q, and it lies in %q", n.name, n.says, n.lies)
		}
	}
	if issue := CheckPath(m.Notebook.Path); issue != "" {
		f.bad(0, "notebook: %s", issue)
	}
}

// examineCells compares the notebook's cells with the manifests: without one, a cell is what is left of a checkpoint that
// was not finished, or that was let go of.
func (r *research) examineCells() []pawl.Finding {
	if r.notebook == nil {
		return nil
	}
	f := &findings{path: notebookPath(r.title)}
	seen, known := map[string]bool{}, make(map[string]bool, len(r.records))
	for _, rec := range r.records {
		known[rec.Path] = true
	}
	for _, c := range r.notebook.Cells {
		if c.ID != "" && seen[c.ID] {
			f.warn(c.Line(), "two cells have the id %s", c.ID)
		}
		seen[c.ID] = true
		if c.Pointer.Manifest == "" {
			continue
		}
		rec, ok := placeOf(c.Pointer.Manifest)
		if !ok || CheckPath(c.Pointer.Manifest) != "" {
			f.warn(c.Line(), "a cell refers to a manifest at %q, which is not the path of a manifest", c.Pointer.Manifest)
		} else if !known[rec.Path] && c.Pointer.CutShort {
			f.add(pawl.OK, c.Line(), fmt.Sprintf("a cell says that stage %s was interrupted (%s); without a manifest it cannot be resumed from", c.Pointer.Stage, c.Pointer.Reason), "")
		} else if !known[rec.Path] {
			f.warn(c.Line(), "a cell refers to checkpoint %s of run %s, but there is no manifest: it was not completed, or it was pruned", rec.ID, rec.Run)
		}
	}
	return f.list
}

func (r *research) examineQueue(run string) []pawl.Finding {
	q := r.queues[run]
	if q == nil {
		return nil
	}
	f := &findings{path: queuePath(r.title, run)}
	for _, j := range q.Jobs {
		if q.IsStale(j, r.now) {
			f.warn(j.Line, "job %s of stage %s is claimed by %s, which has shown no sign of life for %s; that alone does not mean that it is dead",
				j.ID, j.Stage, j.Worker, q.Stale)
		}
	}
	return f.list
}

func (r *research) examineFront() []pawl.Finding {
	if r.notebook == nil {
		return nil
	}
	f := &findings{path: notebookPath(r.title)}
	if r.notebook.Front == nil {
		f.warn(0, "no Gyoshu front matter: its runs are only known from their checkpoints")
		return f.list
	}
	for _, e := range r.notebook.Front.Runs {
		if !slices.Contains([]string{"in_progress", "completed", "failed"}, e.Status) {
			f.warn(0, "run %s has the status %q, which Gyoshu does not know", e.ID, e.Status)
		}
		if e.Started.After(r.now) {
			f.warn(0, "run %s has the start time %s, which is in the future", e.ID, instantOf(e.Started))
		}
	}
	return f.list
}

// examineResume says from where the newest run would be resumed.
func (r *research) examineResume(env format.Env) pawl.Finding {
	if e := r.front().run(r.newest); e != nil && e.Status == "completed" {
		return pawl.Finding{Level: pawl.OK, Where: r.title, What: "run " + r.newest + " is completed"}
	}
	res := resume(r.records, r.newest, env)
	if res.base == nil {
		return pawl.Finding{Level: pawl.Warn, Where: r.title, What: res.issue}
	}
	what := "run " + r.newest + " is resumable from checkpoint " + res.base.ID
	if res.next != "" {
		what += "; next is " + res.next
	}
	return pawl.Finding{Level: pawl.OK, Where: r.title, What: what, Evidence: res.base.warning()}
}
