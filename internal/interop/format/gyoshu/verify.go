package gyoshu

import (
	"fmt"
	"slices"

	"pawl"
	"pawl/internal/interop/format"
)

// examine returns all findings about a research: faults, and OK for what is sound.
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
		f.list[0].Evidence = "Gyoshu skips checkpoint " + rec.ID + " without a message"
		f.list = append(f.list, rec.Problems...)
		f.examineDuplicateKeys(rec.Manifest)
		return f.list
	}
	m := rec.Manifest
	f.examineDuplicateKeys(m)
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

// maxDuplicates limits the duplicate keys that are reported for a manifest.
const maxDuplicates = 20

// examineDuplicateKeys reports duplicate keys. JSON parsers use the last one.
func (f *findings) examineDuplicateKeys(m *Manifest) {
	if m == nil {
		return
	}
	for _, twin := range m.duplicates[:min(len(m.duplicates), maxDuplicates)] {
		f.warn(twin.Value.Line(), "duplicate key %q; this one is used", twin.Key)
	}
}

// examineNames reports a manifest whose path does not match its content, and a missing notebook.
func (f *findings) examineNames(rec *Record) {
	m := rec.Manifest
	for _, n := range []struct{ name, says, lies string }{
		{"reportTitle", m.Title, rec.Title}, {"runId", m.Run, rec.Run}, {"checkpointId", m.CheckpointID, rec.ID},
	} {
		if n.says != n.lies {
			f.warn(0, "%s is %q, but its path says %q", n.name, n.says, n.lies)
		}
	}
	if issue := CheckPath(m.Notebook.Path); issue != "" {
		f.bad(0, "notebook: %s", issue)
	}
}

// examineCells compares the notebook's cells with the manifests. A cell without a manifest is left of an incomplete or
// removed checkpoint.
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
			f.warn(j.Line, "job %s of stage %s is claimed by %s, which has sent no heartbeat for %s; that alone does not prove that it has ended",
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

// examineResume reports the resume point of the newest run.
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
