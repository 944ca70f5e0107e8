package dotagent

import (
	"bytes"
	"encoding/json"
	"path"
	"slices"
	"time"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/interop/format/fileset"
	"pawl/internal/textedit/jsonedit"
)

// write returns what differs, in the order in which dotagent's agents write: first what was made, then execution.json,
// then phase.json, each whole, so that a death between any two leaves a state that is merely behind. A workflow that is
// not this run is archived before; this one, when it is completed.
func write(files format.Files, v format.Export) []format.File {
	if v.State == nil {
		return nil
	}
	m := newWorkflowWriter(files, v)
	if m.alreadyArchived() {
		return m.files.ByLastChange()
	}
	if !m.isThisWorkflow() {
		m.archiveState(v.Now, false)
	}
	m.makeOutputs()
	m.makeReports()
	m.makeExecution()
	m.makePhase()
	if v.Status != pawl.StatusCompleted || len(m.unknownTasks) > 0 {
		return m.files.ByLastChange()
	}
	last := m.files.Flush() // stands on disk as it will in the archive, whenever it dies
	m.archiveState(m.Now, true)
	return append(last, m.files.ByLastChange()...)
}

// workflowWriter writes one run as a workflow.
type workflowWriter struct {
	format.Export
	files        *fileset.Set
	works        []*runStep
	unknownTasks []string // see unknownTasks
}

func newWorkflowWriter(files format.Files, v format.Export) *workflowWriter {
	m := &workflowWriter{Export: v, files: fileset.New(files)}
	m.files.Now = v.Now
	if m.Plan == nil {
		m.Plan = &pawl.Plan{}
	}
	m.assignPhases()
	m.findUnknownTasks(files)
	return m
}

// unknownTasks returns the tasks of the workflow that execution.json lists and the run does not know.
func unknownTasks(files format.Files, v format.Export) ([]string, string) {
	return newWorkflowWriter(files, v).unknownTasks, executionPath
}

// findUnknownTasks finds the tasks that a completed run has no step for.
func (m *workflowWriter) findUnknownTasks(files format.Files) {
	if m.State == nil || m.Status != pawl.StatusCompleted || m.files.File(phasePath) == nil || !m.isThisWorkflow() {
		return
	}
	for _, t := range readWorkflow(files, format.Env{Now: m.Now}).tasks {
		known := slices.ContainsFunc(m.works, func(k *runStep) bool { return k.ID == t.step })
		over := t.status == pawl.Done || t.status == pawl.Skipped || t.output != nil && taskStatus(t.output.status) == pawl.Done
		if !known && !over && t.id != restOf {
			m.unknownTasks = append(m.unknownTasks, t.id)
		}
	}
}

// id returns the workflow's id: that of a workflow that was imported, else the run's.
func (m *workflowWriter) id() string {
	if m.State.Import.System == System {
		return nameOf(m.State.Name)
	}
	return string(m.State.Run)
}

// isThisWorkflow reports whether the existing state belongs to this workflow, or there is none.
func (m *workflowWriter) isThisWorkflow() bool {
	if m.files.File(phasePath) != nil {
		return m.hasWorkflowID(phasePath)
	}
	return m.files.File(executionPath) == nil || m.hasWorkflowID(executionPath) || m.State.Import.System == System
}

// hasWorkflowID reports whether a file has the id of this workflow.
func (m *workflowWriter) hasWorkflowID(name string) bool {
	root, err := jsonedit.Read(m.files.File(name).Data)
	return err == nil && root.Is(jsonedit.Object) && nameOf(node{Value: root}.text("workflow_id")) == m.id()
}

// alreadyArchived reports whether the run is completed and archived already. It removes what an interrupted write left of the state.
func (m *workflowWriter) alreadyArchived() bool {
	if m.Status != pawl.StatusCompleted {
		return false
	}
	folder := m.archiveFolder()
	same := func(name string) bool {
		f, kept := m.files.File(name), m.files.File(folder+"/"+path.Base(name))
		return f != nil && kept != nil && bytes.Equal(f.Data, kept.Data)
	}
	if folder == "" || m.files.File(phasePath) != nil && m.isThisWorkflow() && !same(phasePath) {
		return false
	}
	for _, name := range []string{executionPath, phasePath} {
		if same(name) {
			m.files.Remove(name)
		}
	}
	return true
}

// archiveFolder returns the folder of the archive that holds the run's current state, "" if there is none.
func (m *workflowWriter) archiveFolder() string {
	want := m.completed()
	for _, folder := range archives(m.files.Files()) {
		id, _, _ := cutLast(path.Base(folder), "_")
		f := m.files.File(folder + "/phase.json")
		if f == nil || id != string(pawl.StepIDOf(m.id())) {
			continue
		}
		flow := flowIn(f, m.Now)
		if n := len(flow.completed); flow.status == isComplete && n == len(want) && (n == 0 || instant(flow.completed[n-1].when) == want[n-1].Completed) {
			return folder
		}
	}
	return ""
}

// flow returns what phase.json says as it stands.
func (m *workflowWriter) flow() workflow {
	if f := m.files.File(phasePath); f != nil {
		return flowIn(f, m.Now)
	}
	return workflow{current: unknown}
}

// flowIn returns what a phase.json says.
func flowIn(f *format.File, now time.Time) workflow {
	r := newWorkflowReader(format.Files{{Path: phasePath, Data: f.Data}}, format.Env{Now: now})
	r.readFlow()
	return r.flow
}

// phaseEntry is a finished phase in phase.json. Skipped steps are in keys that pawl adds: dotagent has no word for them.
type phaseEntry struct {
	Phase     string   `json:"phase"`
	Completed string   `json:"completed_at"`
	Output    string   `json:"output"`
	Status    string   `json:"status,omitempty"`
	Skipped   []string `json:"skipped,omitempty"`
}

// approval is what a person approved, as phase.json has it.
type approval struct {
	Phase    string `json:"phase"`
	Approved string `json:"approved_at"`
}

// makePhase brings phase.json up to date. The last update is that of the last change, here or among the tasks.
func (m *workflowWriter) makePhase() {
	f := m.files.File(phasePath)
	if f == nil {
		m.files.Put(phasePath, m.newPhase())
		return
	}
	text := f.Data
	current, status := m.standing()
	text = set(text, current.String(), "current_phase")
	if phaseStatus(textAt(text, "phase_status")) != status {
		text = set(text, status, "phase_status")
	}
	text = m.withCompleted(text)
	text = m.withApprovals(text)
	text = set(text, true, "interruption_safe")
	if !bytes.Equal(text, f.Data) || slices.Contains(paths(m.files.ByLastChange()), executionPath) {
		text = setTime(text, m.State.Updated, "last_updated")
	}
	m.files.Put(phasePath, text)
}

func paths(files []format.File) []string {
	var names []string
	for _, f := range files {
		names = append(names, f.Path)
	}
	return names
}

// newPhase returns a phase.json where there was none: on one line, with its keys in the document's order.
func (m *workflowWriter) newPhase() []byte {
	current, status := m.standing()
	return compact(struct {
		ID          string       `json:"workflow_id"`
		Started     string       `json:"started_at"`
		Updated     string       `json:"last_updated"`
		Current     string       `json:"current_phase"`
		Status      string       `json:"phase_status"`
		Completed   []phaseEntry `json:"completed_phases"`
		Checkpoints []approval   `json:"user_checkpoints"`
		Safe        bool         `json:"interruption_safe"`
	}{m.id(), instant(m.State.Created), instant(m.State.Updated), current.String(), status, m.completed(), m.approved(), true})
}

// compact writes a value as dotagent's agents are told to: on one line.
func compact(v any) []byte {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic("texts and numbers are JSON: " + err.Error())
	}
	return out.Bytes()
}

// withCompleted says in phase.json which phases are done: what stands there of one that is done stays, as far as it says
// what it left; one that was opened again goes.
func (m *workflowWriter) withCompleted(text []byte) []byte {
	want := m.completed()
	flow := m.flow()
	list := flow.Get("completed_phases")
	for i, c := range slices.Backward(flow.completed) {
		isOpen := !slices.ContainsFunc(want, func(e phaseEntry) bool { return e.Phase == c.phase.String() })
		if isOpen && list.Is(jsonedit.Array) && len(flow.completed) == len(list.Items) {
			text = removed(text, "completed_phases", number(i))
		}
	}
	for _, e := range want {
		if !flow.has(phaseNamed(e.Phase)) {
			text = appended(text, e, "completed_phases")
		} else {
			text = withSkipped(text, e)
		}
	}
	return text
}

// withSkipped says in phase.json of a phase that stands there what was skipped of it.
func withSkipped(text []byte, e phaseEntry) []byte {
	root, err := jsonedit.Read(text)
	if err != nil {
		return text
	}
	for i, c := range (node{Value: root}).list("completed_phases") {
		switch at := []string{"completed_phases", number(i)}; {
		case !c.Is(jsonedit.Object) || phaseNamed(c.first("phase", "name")) != phaseNamed(e.Phase) || slices.Equal(c.texts("skipped"), e.Skipped):
		case e.Skipped == nil:
			text = removed(removed(text, append(at, "status")...), append(at, "skipped")...)
		default:
			text = set(set(text, e.Status, append(at, "status")...), e.Skipped, append(at, "skipped")...)
		}
	}
	return text
}

// withApprovals adds what a person approved since.
func (m *workflowWriter) withApprovals(text []byte) []byte {
	flow := m.flow()
	for _, a := range m.approved() {
		at, _, _ := format.ParseTime(a.Approved)
		if known, there := flow.approved[phaseNamed(a.Phase)]; there && !known.Before(at.Truncate(time.Millisecond)) {
			continue
		}
		text = appended(text, a, "user_checkpoints")
	}
	return text
}
