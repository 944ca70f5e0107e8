package dotagent

import (
	"cmp"
	"slices"
	"time"

	"pawl/internal/interop/format"
	"pawl/internal/textedit/jsonedit"
)

// workflow is the content of phase.json.
type workflow struct {
	node
	id        string
	started   time.Time
	updated   time.Time
	current   phase
	word      string // phase_status, as written
	status    string // the same, normalized
	completed []completed
	approved  map[phase]time.Time
	unsafe    bool // interruption_safe is false
	lost      bool // phase.json exists and is unreadable
	torn      bool // phase.json is truncated and was read line by line
}

// completed is a phase that phase.json lists as completed.
type completed struct {
	node
	phase  phase
	when   time.Time
	output string // a safe path
	odd    bool   // the path of its output is unsafe
	status string // isSkipped or isPartial if steps were skipped; only pawl writes it
	skips  []string
}

// has reports whether phase.json lists a phase as completed.
func (f *workflow) has(p phase) bool { return f.entry(p) != nil }

func (f *workflow) entry(p phase) *completed {
	for i := range f.completed {
		if f.completed[i].phase == p {
			return &f.completed[i]
		}
	}
	return nil
}

// readFlow reads phase.json. It reads a truncated file as far as possible, and phase.json.tmp if phase.json is unreadable.
func (r *workflowReader) readFlow() {
	r.flow = workflow{node: node{file: phasePath}, current: unknown, approved: map[phase]time.Time{}}
	f := r.file(phasePath)
	beside := r.file(phasePath + ".tmp")
	if f == nil && beside == nil {
		return
	}
	if f != nil {
		p, ok := r.parse(f)
		if ok && p.Is(jsonedit.Object) {
			r.readPhase(p)
			r.checkUnsafe(beside)
			return
		}
		if ok {
			r.addTruncated(r.Bad(p.where(), "not an object: it describes no workflow"))
		}
	}
	r.flow.lost = true
	if beside != nil {
		if p, ok := r.parse(beside); ok && p.Is(jsonedit.Object) {
			r.addTruncated(r.Warn(phasePath, "phase.json is missing or unreadable; the complete phase.json.tmp is used instead"))
			r.flow.lost = false
			r.readPhase(p)
			return
		}
	}
	r.readTorn(cmp.Or(f, beside))
}

// readTorn reads the known keys of a truncated file.
func (r *workflowReader) readTorn(f *format.File) {
	said := scan(f.Data)
	r.flow.torn = true
	r.flow.id = oneLine(said["workflow_id"])
	r.flow.current = phaseNamed(said["current_phase"])
	r.flow.word = oneLine(said["phase_status"])
	r.flow.status = phaseStatus(r.flow.word)
	r.flow.started, _, _ = format.ParseTime(said["started_at"])
	r.flow.updated, _, _ = format.ParseTime(said["last_updated"])
	if r.flow.started.After(r.env.Now.Add(clockSkew)) {
		r.flow.started = time.Time{}
	}
	if r.flow.updated.After(r.env.Now.Add(clockSkew)) {
		r.flow.updated = time.Time{}
	}
	if r.flow.id != "" || r.flow.current != unknown {
		r.flow.lost = false
		r.Warn(f.Path, "the file is truncated; completed phases are taken from the reports")
	}
}

// checkUnsafe warns if interruption_safe is false. The flag is set and cleared in place, so a crash just before the last
// write leaves a complete state with the flag: the state is suspect, but may be complete.
func (r *workflowReader) checkUnsafe(beside *format.File) {
	switch {
	case r.flow.unsafe && beside != nil:
		r.addTruncated(r.Warn(phasePath, "interruption_safe is false and phase.json.tmp exists: a write was interrupted. phase.json is complete and was checked against the reports"))
	case r.flow.unsafe:
		r.addTruncated(r.Warn(phasePath, "interruption_safe is false: a write may have been interrupted. The file is complete and was checked against the reports"))
	case beside != nil:
		r.addTruncated(r.Warn(beside.Path, "leftover of an interrupted write; phase.json is used"))
	}
}

// readPhase reads the keys of phase.json.
func (r *workflowReader) readPhase(p node) {
	f := &r.flow
	f.node = p
	f.id = oneLine(p.text("workflow_id"))
	f.started, f.updated = r.readTime(p, "started_at"), r.readTime(p, "last_updated")
	f.word = oneLine(p.text("phase_status"))
	f.status = phaseStatus(f.word)
	f.current = phaseNamed(p.text("current_phase"))
	if v := p.Get("interruption_safe"); v.Is(jsonedit.Bool) {
		f.unsafe = !v.True()
	}
	r.checkRequired(p)
	for _, e := range p.list("completed_phases") {
		r.readCompleted(e)
	}
	for _, e := range p.list("user_checkpoints") {
		r.readApproval(e)
	}
}

// checkRequired reports missing keys and unknown status words.
func (r *workflowReader) checkRequired(p node) {
	for _, key := range []string{"workflow_id", "started_at", "last_updated", "current_phase", "phase_status"} {
		if p.Get(key) == nil {
			r.Warn(p.where(), "%s is missing", key)
		}
	}
	if word := p.text("current_phase"); word != "" && r.flow.current == unknown {
		r.Bad(p.at("current_phase").where(), "unknown phase %s", short(word))
	}
	if r.flow.word != "" && r.flow.status == "" {
		r.Warn(p.at("phase_status").where(), "unknown phase_status %s; the position is taken from the reports", short(r.flow.word))
	}
}

func (r *workflowReader) readCompleted(e node) {
	c := completed{node: e, phase: phaseNamed(e.first("phase", "name")), when: r.readTime(e, "completed_at")}
	if e.Is(jsonedit.String) {
		c.phase = phaseNamed(e.text())
	}
	if c.phase == unknown {
		r.Warn(e.where(), "a completed phase has an unknown name")
		return
	}
	c.status, c.skips = e.text("status"), e.texts("skipped")
	if name := e.text("output"); name != "" {
		c.output = r.localPath(e, name)
		c.odd = c.output == ""
	}
	r.flow.completed = append(r.flow.completed, c)
}

func (r *workflowReader) readApproval(e node) {
	p := phaseNamed(e.first("phase", "name"))
	if e.Is(jsonedit.String) {
		p = phaseNamed(e.text())
	}
	if p == unknown {
		r.Warn(e.where(), "an approval is for an unknown phase")
		return
	}
	r.flow.approved[p] = newest(r.readTime(e, "approved_at"), r.flow.approved[p])
}

// order returns the faults in the order of the completed phases. They must be the first of the five phases, each once, and
// the current phase must follow them.
func (f *workflow) order() []string {
	var faults []string
	next := requirements
	for _, c := range f.completed {
		switch {
		case slices.ContainsFunc(f.completed, func(o completed) bool { return o.phase == c.phase && o.Value != c.Value && o.From < c.From }):
			faults = append(faults, c.phase.String()+" is listed as done twice")
			continue
		case c.phase > next:
			faults = append(faults, c.phase.String()+" is listed as done before "+next.String())
		case c.phase < next:
			faults = append(faults, c.phase.String()+" follows a later phase")
		}
		next = max(next, c.phase+1)
	}
	if f.current != unknown && f.current > next {
		faults = append(faults, f.current.String()+" is the current phase, but "+next.String()+" is not done")
	}
	if f.current != unknown && f.current+1 < next {
		faults = append(faults, f.current.String()+" is the current phase, but a later phase is listed as done")
	}
	return faults
}
