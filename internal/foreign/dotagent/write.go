package dotagent

import (
	"bytes"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/foreign"
	"pawl/internal/foreign/splice"
)

// Write returns what differs, in the order in which dotagent's agents write: first what was made, then execution.json,
// then phase.json, each whole, so that a death between any two leaves a state that is merely behind. A workflow that is
// not this run is archived before; this one, when it is completed.
func (codec) Write(files foreign.Files, v foreign.View) []foreign.File {
	if v.State == nil {
		return nil
	}
	m := newMirror(files, v)
	if m.settled() {
		return nil
	}
	if !m.mine() {
		m.aside(v.Now)
	}
	m.makeOutputs()
	m.makeReports()
	m.makeExecution()
	m.makePhase()
	if v.Status == pawl.StatusCompleted {
		m.aside(m.Now)
	}
	return m.changed()
}

// mirror writes one run. Its files are what is there, with what was changed so far.
type mirror struct {
	foreign.View
	before map[string]*foreign.File
	there  map[string]*foreign.File // as they are with what was changed
	made   []string                 // paths, in the order in which they are to be written
	works  []*work
}

func newMirror(files foreign.Files, v foreign.View) *mirror {
	m := &mirror{View: v, before: make(map[string]*foreign.File, len(files))}
	for i := range files {
		m.before[files[i].Path] = &files[i]
	}
	m.there = maps.Clone(m.before)
	if m.Plan == nil {
		m.Plan = &pawl.Plan{}
	}
	m.number()
	return m
}

func (m *mirror) file(name string) *foreign.File { return m.there[name] }

// files returns all files as they are, by path.
func (m *mirror) files() foreign.Files {
	var all foreign.Files
	for _, name := range slices.Sorted(maps.Keys(m.there)) {
		all = append(all, *m.there[name])
	}
	return all
}

// put takes in a file as it is to be; without data it is to go.
func (m *mirror) put(name string, data []byte) {
	if old := m.there[name]; old != nil && data != nil && bytes.Equal(old.Data, data) {
		return
	}
	delete(m.there, name)
	if data != nil {
		m.there[name] = &foreign.File{Path: name, Data: data, Changed: m.Now}
	}
	m.made = append(m.made, name)
}

// changed returns the files that differ from how they were: first those that are written, then those that go.
func (m *mirror) changed() []foreign.File {
	var written, gone []foreign.File
	told := map[string]bool{}
	for _, name := range m.made {
		now, was := m.there[name], m.before[name]
		switch {
		case told[name]:
		case now == nil && (was != nil || strings.HasSuffix(name, "/")):
			gone = append(gone, foreign.File{Path: name})
		case now != nil && (was == nil || !bytes.Equal(was.Data, now.Data)):
			written = append(written, foreign.File{Path: name, Data: now.Data})
		}
		told[name] = true
	}
	return append(written, gone...)
}

// id returns the workflow's id: that of a workflow that was imported, else the run's.
func (m *mirror) id() string {
	if m.State.Imported == System {
		return m.State.Name
	}
	return string(m.State.Run)
}

// mine reports whether the state that is there is of this workflow, or there is none.
func (m *mirror) mine() bool {
	f := m.file(phasePath)
	if f == nil {
		return m.file(executionPath) == nil || m.State.Imported == System
	}
	root, err := splice.ReadJSON(f.Data)
	if err != nil || !root.Is(splice.JSONObject) {
		return false
	}
	return nameOf(root.Get("workflow_id").Text()) == m.id()
}

// settled reports whether the run is completed and archived already, and no other state lies there as its own.
func (m *mirror) settled() bool {
	if m.Status != pawl.StatusCompleted || m.file(phasePath) != nil && m.mine() {
		return false
	}
	want := m.completed()
	for _, folder := range archives(m.files()) {
		id, _, _ := cutLast(path.Base(folder), "_")
		f := m.file(folder + "/phase.json")
		if f == nil || id != string(pawl.StepIDOf(m.id())) {
			continue
		}
		flow := flowIn(f, m.Now)
		if n := len(flow.completed); flow.status == isComplete && n == len(want) && (n == 0 || instant(flow.completed[n-1].when) == want[n-1].Completed) {
			return true
		}
	}
	return false
}

// flow returns what phase.json says as it stands.
func (m *mirror) flow() workflow {
	if f := m.file(phasePath); f != nil {
		return flowIn(f, m.Now)
	}
	return workflow{current: unknown}
}

// flowIn returns what a phase.json says.
func flowIn(f *foreign.File, now time.Time) workflow {
	r := newReader(foreign.Files{{Path: phasePath, Data: f.Data}}, foreign.World{Now: now})
	r.readFlow()
	return r.flow
}

// entry is a phase that is done, as phase.json has it.
type entry struct {
	Phase     string `json:"phase"`
	Completed string `json:"completed_at"`
	Output    string `json:"output"`
}

// approval is what a person approved, as phase.json has it.
type approval struct {
	Phase    string `json:"phase"`
	Approved string `json:"approved_at"`
}

// makePhase brings phase.json up to date. The last update is that of the last change, here or among the tasks.
func (m *mirror) makePhase() {
	f := m.file(phasePath)
	if f == nil {
		m.put(phasePath, m.newPhase())
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
	if !bytes.Equal(text, f.Data) || slices.Contains(paths(m.changed()), executionPath) {
		text = setTime(text, m.State.Updated, "last_updated")
	}
	m.put(phasePath, text)
}

func paths(files []foreign.File) []string {
	var names []string
	for _, f := range files {
		names = append(names, f.Path)
	}
	return names
}

// newPhase returns a phase.json where there was none: on one line, with its keys in the document's order.
func (m *mirror) newPhase() []byte {
	current, status := m.standing()
	return compact(struct {
		ID          string     `json:"workflow_id"`
		Started     string     `json:"started_at"`
		Updated     string     `json:"last_updated"`
		Current     string     `json:"current_phase"`
		Status      string     `json:"phase_status"`
		Completed   []entry    `json:"completed_phases"`
		Checkpoints []approval `json:"user_checkpoints"`
		Safe        bool       `json:"interruption_safe"`
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
func (m *mirror) withCompleted(text []byte) []byte {
	want := m.completed()
	flow := m.flow()
	list := flow.Get("completed_phases")
	for i, c := range slices.Backward(flow.completed) {
		isOpen := !slices.ContainsFunc(want, func(e entry) bool { return e.Phase == c.phase.String() })
		if isOpen && list.Is(splice.JSONArray) && len(flow.completed) == len(list.Items) {
			text = removed(text, "completed_phases", number(i))
		}
	}
	for _, e := range want {
		if !flow.has(phaseNamed(e.Phase)) {
			text = appended(text, e, "completed_phases")
		}
	}
	return text
}

// withApprovals adds what a person approved since.
func (m *mirror) withApprovals(text []byte) []byte {
	flow := m.flow()
	for _, a := range m.approved() {
		at, _, _ := parseTime(a.Approved)
		if known, there := flow.approved[phaseNamed(a.Phase)]; there && !known.Before(at.Truncate(time.Millisecond)) {
			continue
		}
		text = appended(text, a, "user_checkpoints")
	}
	return text
}
