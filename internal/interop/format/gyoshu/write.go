package gyoshu

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/interop/format/fileset"
)

// write returns the files that say where the run stands: the notebook with a cell, and a manifest, for each finished step,
// the state of the loop, the queue where there is one, and in the report the stages that were carried out.
//
// Gyoshu resumes from the newest checkpoint, also from one that was taken in the middle of a stage, and goes on behind its
// stage. So such a one is always followed by another that says again which stage was finished last; where none was, it has
// a cell in the notebook, and no manifest.
func write(files format.Files, v format.Export) []format.File {
	m := newResearchWriter(files, v)
	m.beginNotebook()
	for _, id := range m.unsaved() {
		m.saveStep(id)
	}
	m.saveInterrupted()
	m.saveManual()
	m.resaveLastStage()
	m.updateFrontMatter()
	m.updateLoop()
	m.updateQueues()
	m.updateHistory()
	return m.files.ByFirstChange()
}

// refuses says that the notebook cannot be read: each checkpoint is to point to a cell in it.
func refuses(files format.Files, run *pawl.State) []pawl.Finding {
	file := files.Find(notebookPath(titleOf(run.Name)))
	if file == nil {
		return nil
	}
	_, err := ReadNotebook(file.Data)
	if err == nil {
		return nil
	}
	f := &findings{path: file.Path}
	f.broken(err)
	f.list[0].What += "; without it there are no checkpoints"
	f.list[0].Hint = "restore a copy of it"
	return f.list
}

// researchWriter writes one run of a research.
type researchWriter struct {
	format.Export
	title  string
	run    string
	steps  []pawl.StepID // those of the plan, then others, in order
	stages map[pawl.StepID]string
	files  *fileset.Set
	before format.Files
	latest time.Time // of the run's checkpoints
}

func newResearchWriter(files format.Files, v format.Export) *researchWriter {
	plan := v.Plan
	if plan == nil {
		plan = &pawl.Plan{}
	}
	m := &researchWriter{Export: v, title: titleOf(v.State.Name), run: string(v.State.Run), files: fileset.New(files), before: files}
	whole := &pawl.Plan{Phases: slices.Clone(plan.Phases)}
	whole.Phases = append(whole.Phases, pawl.Phase{Steps: unplanned(v.State, plan)})
	m.stages = stageNames(whole)
	for _, s := range whole.Steps() {
		m.steps = append(m.steps, s.ID)
	}
	if records := Records(files, m.title, m.run); len(records) > 0 && records[0].Loads() {
		m.latest = records[0].Manifest.Time()
	}
	return m
}

// unplanned returns the steps that the plan does not have, in the order in which they began.
func unplanned(state *pawl.State, plan *pawl.Plan) []pawl.Step {
	ids := slices.Collect(maps.Keys(state.Steps))
	ids = slices.DeleteFunc(ids, func(id pawl.StepID) bool { return plan.Step(id) != nil })
	slices.SortFunc(ids, func(a, b pawl.StepID) int {
		return cmp.Or(state.Steps[a].Started.Compare(state.Steps[b].Started), cmp.Compare(a, b))
	})
	var steps []pawl.Step
	for _, id := range ids {
		steps = append(steps, pawl.Step{ID: id})
	}
	return steps
}

// finished returns the steps that are done, in the order in which they ended.
func (m *researchWriter) finished() []pawl.StepID {
	var ids []pawl.StepID
	for _, id := range m.steps {
		if st := m.State.Steps[id]; st != nil && st.Status == pawl.Done {
			ids = append(ids, id)
		}
	}
	slices.SortStableFunc(ids, func(a, b pawl.StepID) int {
		return cmp.Compare(m.State.Steps[a].Done, m.State.Steps[b].Done)
	})
	return ids
}

// unsaved returns the finished steps behind the last one that has its checkpoint. They are saved in their order, so one before
// it that has none was let go of, and is not to come back with a time of now.
func (m *researchWriter) unsaved() []pawl.StepID {
	finished := m.finished()
	for i, id := range slices.Backward(finished) {
		if m.files.File(manifestPath(m.title, m.run, m.idOf(id))) != nil {
			return finished[i+1:]
		}
	}
	for i, id := range slices.Backward(finished) {
		if m.found(id) {
			return finished[i:]
		}
	}
	return finished
}

// found reports whether a step was finished when the run was made of these files: its checkpoint is that of another run. The last
// of such steps is said again, so that Gyoshu goes on behind it.
func (m *researchWriter) found(id pawl.StepID) bool {
	return m.State.Import.System == System && m.imported(id)
}

// imported reports whether a step was finished when the run was made: pawl never ran it.
func (m *researchWriter) imported(id pawl.StepID) bool {
	return strings.HasPrefix(m.State.Steps[id].Adopted, "imported")
}

// trust returns how far what stands for a finished step is trusted: for one that pawl never ran no further than the least trusted
// checkpoint of the research, for it is made of these.
func (m *researchWriter) trust(id pawl.StepID) Trust {
	if !m.imported(id) {
		return Local
	}
	outside := !filepath.IsLocal(cmp.Or(m.State.Import.Path, "."))
	if outside || slices.ContainsFunc(Records(m.before, m.title, ""), func(r *Record) bool { return r.Manifest != nil && r.Manifest.Trust == Untrusted }) {
		return Untrusted
	}
	return Imported
}

// idOf returns the id of the checkpoint of a finished step. It is the number of the event that says so, so that a step that was
// done again has another.
func (m *researchWriter) idOf(id pawl.StepID) string {
	return fmt.Sprintf("ckpt-%06d", m.State.Steps[id].Done)
}

// saveStep makes the checkpoint of a finished step.
func (m *researchWriter) saveStep(id pawl.StepID) {
	m.save(m.request(m.idOf(id), id, m.State.Steps[id].Ended))
}

// request asks for a checkpoint that says that a step was finished last.
func (m *researchWriter) request(name string, id pawl.StepID, at time.Time) Request {
	return Request{
		Title:     m.title,
		Run:       m.run,
		ID:        name,
		Session:   m.run,
		Stage:     m.stages[id],
		Status:    Saved,
		Trust:     m.trust(id),
		Python:    Python{Platform: platform()},
		Artifacts: artifactsIn(m.State.Steps[id].Outputs),
		Now:       at,
	}
}

// save makes a checkpoint that is not there yet, by its time behind all others: of two at the same time Gyoshu takes any.
// Where the notebook cannot be read there is none, for it would point to a cell that is not there.
func (m *researchWriter) save(r Request) {
	if r.Now = r.Now.Truncate(time.Millisecond); !r.Now.After(m.latest) {
		r.Now = m.latest.Add(time.Millisecond)
	}
	files, err := save(m.files.File, r)
	for _, f := range files {
		m.files.Put(f.Path, f.Data)
	}
	if err == nil { // else it is there already, its notebook is broken, or has a name that Gyoshu could not load
		m.latest = r.Now
	}
}

// platform returns the name that Node has for this system.
func platform() string {
	if runtime.GOOS == "windows" {
		return "win32"
	}
	return runtime.GOOS
}

// artifactsIn returns recorded outputs that are single files, by path. Folders, and patterns with very many matches, have
// one hash for all and cannot be named.
func artifactsIn(outputs pawl.Outputs) []Artifact {
	var list []Artifact
	for _, p := range slices.Sorted(maps.Keys(outputs)) {
		if c := outputs[p]; c.Files == 0 && c.SHA256 != "" && CheckPath(p) == "" && utf8.ValidString(p) {
			list = append(list, Artifact{Path: p, SHA256: c.SHA256, Size: c.Size})
		}
	}
	return list
}

// saveInterrupted saves an emergency checkpoint for the last stage if it was interrupted and not finished since.
func (m *researchWriter) saveInterrupted() {
	last := m.State.LastSave
	if last == nil || last.Kind != pawl.CheckpointEmergency || m.stages[last.Step] == "" || m.State.Steps[last.Step].Finished() {
		return
	}
	r := Request{Title: m.title, Run: m.run, Session: m.run, Stage: m.stages[last.Step], Status: Interrupted, Reason: m.reason(last.Step),
		Python: Python{Platform: platform()}, Now: last.Time, ID: "ckpt-emergency-" + baseTime(last.Time) + "-" + string(last.ID)}
	if len(m.finished()) > 0 {
		m.save(r)
		return
	}
	m.sayInNotebook(r)
}

// sayInNotebook makes the cell of a checkpoint without a manifest, if it is not there yet.
func (m *researchWriter) sayInNotebook(r Request) {
	file := m.files.File(notebookPath(m.title))
	notebook, err := ReadNotebook(file.Data)
	if err != nil || slices.ContainsFunc(notebook.Cells, func(c Cell) bool { return c.Pointer.ID == r.ID }) {
		return
	}
	if data, err := withCell(file.Data, newCheckpointCell(r.manifest())); err == nil {
		m.files.Put(file.Path, data)
	}
}

// reason returns why a step's last attempt was cut off.
func (m *researchWriter) reason(id pawl.StepID) Reason {
	st := m.State.Steps[id]
	if st == nil || st.Retries.Last == nil {
		return Failure
	}
	switch st.Retries.Last.Reason {
	case pawl.ReasonTimeout, pawl.ReasonStalled:
		return Timeout
	case pawl.ReasonAbort, pawl.ReasonBudget:
		return Abort
	}
	return Failure
}

// saveManual makes a checkpoint of one that a person asked for: it says which stage was finished last.
func (m *researchWriter) saveManual() {
	c := m.Checkpoint
	if finished := m.finished(); c != nil && c.Kind == pawl.CheckpointManual && len(finished) > 0 && !c.Time.Before(m.endOf(finished)) {
		m.save(m.request("ckpt-"+string(c.ID), finished[len(finished)-1], c.Time))
	}
}

func (m *researchWriter) endOf(finished []pawl.StepID) time.Time {
	return m.State.Steps[finished[len(finished)-1]].Ended
}

// resaveLastStage saves the last finished stage again if the newest checkpoint is not one of it: that was taken in the middle of a
// stage, or is damaged, or a step was opened again since.
func (m *researchWriter) resaveLastStage() {
	finished := m.finished()
	records := Records(m.files.Files(), m.title, m.run)
	if len(finished) == 0 || len(records) == 0 || !records[0].Loads() {
		return
	}
	newest, last := records[0].Manifest, finished[len(finished)-1]
	if newest.Stage == m.stages[last] && !newest.Status.unsafe() && newest.Intact() {
		return
	}
	m.save(m.request(fmt.Sprintf("ckpt-%06d-again", m.State.Seq), last, m.State.Updated))
}

// entry returns where the run stands as the front matter says it.
func (m *researchWriter) entry() RunEntry {
	e := RunEntry{ID: m.run, Started: m.State.Created, Status: "in_progress"}
	switch m.Status {
	case pawl.StatusCompleted:
		e.Status, e.Ended = "completed", m.State.Updated
	case pawl.StatusFailed:
		e.Status, e.Ended = "failed", m.State.Updated
	}
	return e
}

// beginNotebook makes the notebook where there is none.
func (m *researchWriter) beginNotebook() {
	name := notebookPath(m.title)
	if m.files.File(name) == nil {
		goal := m.State.Goal
		if m.Plan != nil {
			goal = cmp.Or(m.Plan.Goal, goal)
		}
		m.files.Put(name, newNotebook(m.title, goal, m.run, m.entry()))
	}
}

// updateFrontMatter updates the run's status in the notebook's front matter.
func (m *researchWriter) updateFrontMatter() {
	file := m.files.File(notebookPath(m.title))
	m.files.Put(file.Path, withRun(file.Data, m.entry(), m.State.Updated))
}

// updateLoop updates the state of the loop.
func (m *researchWriter) updateLoop() {
	file := m.files.File(loopPath(m.title))
	if file == nil {
		m.files.Put(loopPath(m.title), encoded(m.loop()).Stringify("  "))
		return
	}
	m.files.Put(file.Path, withLoop(file.Data, m.loop()))
}
