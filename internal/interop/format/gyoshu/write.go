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

// write returns the changed files: the notebook with a cell, and a manifest, for each finished step, the state of the loop,
// an existing queue, and the executed stages in the report.
//
// Gyoshu resumes from the newest checkpoint, even one from the middle of a stage, and then continues after that stage. So
// each such checkpoint is followed by one that repeats the last finished stage; if there is none, it has a cell in the
// notebook and no manifest.
func write(files format.Files, v format.Export) []format.File {
	m := newResearchWriter(files, v)
	m.beginNotebook()
	for _, id := range m.unsaved() {
		m.saveStep(id)
	}
	m.saveInterrupted()
	m.saveFailed()
	m.saveManual()
	m.resaveLastStage()
	m.updateFrontMatter()
	m.updateLoop()
	m.updateQueues()
	m.updateHistory()
	return m.files.ByFirstChange()
}

// refuses reports an unreadable notebook: each checkpoint needs a cell in it.
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
	steps  []pawl.StepID // those of the plan, then the others, in order
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

// unplanned returns the steps that are not in the plan, in the order in which they started.
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

// finished returns the steps that are done, in the order in which they ended. Imported ones do not count while a person has
// not approved what they are claimed by.
func (m *researchWriter) finished() []pawl.StepID {
	doubted := slices.ContainsFunc(m.State.Gates, func(g pawl.GateState) bool {
		return g.Purpose == pawl.ForRebuilt && (g.Answer == nil || g.Answer.Answer != pawl.Approved)
	})
	var ids []pawl.StepID
	for _, id := range m.steps {
		if st := m.State.Steps[id]; st != nil && st.Status == pawl.Done && !(doubted && m.imported(id)) {
			ids = append(ids, id)
		}
	}
	slices.SortStableFunc(ids, func(a, b pawl.StepID) int {
		return cmp.Compare(m.State.Steps[a].Done, m.State.Steps[b].Done)
	})
	return ids
}

// unsaved returns the finished steps after the last one with a checkpoint. Steps are saved in order, so an earlier one
// without a checkpoint was pruned, and must not return with the current time.
func (m *researchWriter) unsaved() []pawl.StepID {
	finished := m.finished()
	for i, id := range slices.Backward(finished) {
		if m.files.File(manifestPath(m.title, m.run, m.idOf(id))) != nil {
			return finished[i+1:]
		}
	}
	for i, id := range slices.Backward(finished) {
		if m.importedHere(id) {
			return finished[i:]
		}
	}
	return finished
}

// importedHere reports whether a step was finished when the run was imported from these files: its checkpoint belongs to
// another run. The last one of such steps is saved again, so that Gyoshu continues after it.
func (m *researchWriter) importedHere(id pawl.StepID) bool {
	return m.State.Import.System == System && m.imported(id)
}

// imported reports whether a step was finished at the import: pawl never ran it.
func (m *researchWriter) imported(id pawl.StepID) bool {
	return strings.HasPrefix(m.State.Steps[id].Adopted, "imported")
}

// trust returns the trust level for the checkpoint of a finished step. For a step that pawl never ran it is the lowest level
// of the research's checkpoints, from which it was imported.
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

// idOf returns the id of the checkpoint of a finished step. It has the number of the step's last event, so that a rerun has
// another id.
func (m *researchWriter) idOf(id pawl.StepID) string {
	return fmt.Sprintf("ckpt-%06d", m.State.Steps[id].Done)
}

// saveStep saves the checkpoint of a finished step.
func (m *researchWriter) saveStep(id pawl.StepID) {
	m.save(m.request(m.idOf(id), id, m.State.Steps[id].Ended))
}

// request returns a request for a checkpoint with this step as the last finished one.
func (m *researchWriter) request(name string, id pawl.StepID, at time.Time) Request {
	return Request{
		Title:     m.title,
		Run:       m.run,
		ID:        name,
		Session:   m.run,
		Stage:     m.stages[id],
		Status:    Saved,
		Trust:     m.trustUpTo(id),
		Python:    m.environment(id),
		Executed:  m.executed(id),
		Artifacts: m.artifactsUpTo(id),
		Now:       at,
	}
}

// upTo returns the steps that were finished when this one was, in the order in which they ended, and this one as the last.
func (m *researchWriter) upTo(id pawl.StepID) []pawl.StepID {
	finished := m.finished()
	if i := slices.Index(finished, id); i >= 0 {
		return finished[:i+1]
	}
	return []pawl.StepID{id}
}

// artifactsUpTo returns the artifacts of a step and of those that were finished before it: the next stage needs all of them.
// One of an earlier step that has changed since is left out, since Gyoshu would reject the whole checkpoint.
func (m *researchWriter) artifactsUpTo(id pawl.StepID) []Artifact {
	all, hashed := pawl.Outputs{}, int64(0)
	for _, step := range m.upTo(id) {
		for path, c := range m.State.Steps[step].Outputs {
			if step != id && m.Hash != nil && hashed < maxHashed {
				hashed += c.Size
				if sum, _, err := m.Hash(path); err != nil || sum != c.SHA256 {
					delete(all, path)
					continue
				}
			}
			all[path] = c
		}
	}
	return artifactsIn(all)
}

// trustUpTo returns the lowest trust level of a step and of those whose artifacts its checkpoint has.
func (m *researchWriter) trustUpTo(id pawl.StepID) Trust {
	lowest := m.trust(id)
	for _, step := range m.upTo(id) {
		if t := m.trust(step); len(artifactsIn(m.State.Steps[step].Outputs)) > 0 && (t == Untrusted || lowest == Local) {
			lowest = t
		}
	}
	return lowest
}

// save adds a new checkpoint, later than all others, since Gyoshu's choice between equal times is arbitrary. It adds none if
// the notebook is unreadable, for it would point to a missing cell.
func (m *researchWriter) save(r Request) {
	if r.Now = r.Now.Truncate(time.Millisecond); !r.Now.After(m.latest) {
		r.Now = m.latest.Add(time.Millisecond)
	}
	files, err := save(m.files.File, r)
	for _, f := range files {
		m.files.Put(f.Path, f.Data)
	}
	if err == nil { // on an error it exists already, the notebook is broken, or Gyoshu would reject a name
		m.latest = r.Now
	}
}

// platform returns Node's name of this system.
func platform() string {
	if runtime.GOOS == "windows" {
		return "win32"
	}
	return runtime.GOOS
}

// artifactsIn returns the outputs that are single files, sorted by path. Folders, and patterns with very many matches, have
// one hash for all files and are left out.
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
	m.saveUnfinished(last.Step, "ckpt-emergency-"+baseTime(last.Time)+"-"+string(last.ID), m.reason(last.Step), last.Time)
}

// saveFailed saves an emergency checkpoint for each unfinished stage whose last attempt failed, once for each attempt. pawl
// itself takes none then: the step ended by itself.
func (m *researchWriter) saveFailed() {
	for _, id := range m.steps {
		st := m.State.Steps[id]
		if st == nil || st.Status == pawl.Done || st.Retries.Last == nil || st.Retries.Last.Outcome != pawl.Failed || st.Retries.Last.Reason != pawl.ReasonExited {
			continue
		}
		name := fmt.Sprintf("ckpt-emergency-%d-%.8s", st.Retries.Last.Attempt, st.Retries.Last.Token)
		if m.files.File(manifestPath(m.title, m.run, name)) == nil {
			m.saveUnfinished(id, name, Failure, m.State.Updated)
		}
	}
}

// saveUnfinished saves a checkpoint from the middle of a stage. If no stage is finished, it has only a cell.
func (m *researchWriter) saveUnfinished(id pawl.StepID, name string, why Reason, at time.Time) {
	r := Request{Title: m.title, Run: m.run, Session: m.run, Stage: m.stages[id], Status: Interrupted, Reason: why,
		Python: m.environment(id), Executed: m.executed(id), Kernel: m.kernel(id), Now: at, ID: name}
	if len(m.finished()) > 0 {
		m.save(r)
		return
	}
	m.addCell(r)
}

// addCell adds the cell of a checkpoint without a manifest, once.
func (m *researchWriter) addCell(r Request) {
	file := m.files.File(notebookPath(m.title))
	notebook, err := ReadNotebook(file.Data)
	if err != nil || slices.ContainsFunc(notebook.Cells, func(c Cell) bool { return c.Pointer.ID == r.ID }) {
		return
	}
	if data, err := withCell(file.Data, newCheckpointCell(r.manifest(), r.Kernel)); err == nil {
		m.files.Put(file.Path, data)
	}
}

// reason returns why a step's last attempt was interrupted.
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

// saveManual saves a checkpoint that somebody asked for, with the last finished stage. If none is finished, it is one from the
// middle of the stage that asked, or that runs.
func (m *researchWriter) saveManual() {
	c := m.Checkpoint
	if c == nil || c.Kind != pawl.CheckpointManual || m.files.File(manifestPath(m.title, m.run, "ckpt-"+string(c.ID))) != nil {
		return
	}
	finished := m.finished()
	switch live := m.State.Live(); {
	case len(finished) > 0 && !c.Time.Before(m.endOf(finished)):
		m.save(m.request("ckpt-"+string(c.ID), finished[len(finished)-1], c.Time))
	case len(finished) == 0 && m.stages[c.Step] != "":
		m.saveUnfinished(c.Step, "ckpt-"+string(c.ID), Abort, c.Time)
	case len(finished) == 0 && len(live) > 0 && m.stages[live[0].Step] != "":
		m.saveUnfinished(live[0].Step, "ckpt-"+string(c.ID), Abort, c.Time)
	}
}

func (m *researchWriter) endOf(finished []pawl.StepID) time.Time {
	return m.State.Steps[finished[len(finished)-1]].Ended
}

// resaveLastStage saves the last finished stage again if the newest checkpoint is another one: from the middle of a stage,
// damaged, or of a step that was reopened.
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

// entry returns the run's entry in the front matter.
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

// beginNotebook creates a missing notebook.
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

// updateFrontMatter updates the run's status and its Python in the notebook's front matter.
func (m *researchWriter) updateFrontMatter() {
	file := m.files.File(notebookPath(m.title))
	m.files.Put(file.Path, WithRun(file.Data, m.entry(), m.python(), m.State.Updated))
}

// python returns the path of Python in the newest checkpoint of the run that knows it, "" if none does.
func (m *researchWriter) python() string {
	for _, r := range Records(m.files.Files(), m.title, m.run) {
		if r.Loads() && r.Manifest.Python.Path != "" && r.Manifest.Python.Path != unknown {
			return r.Manifest.Python.Path
		}
	}
	return ""
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
