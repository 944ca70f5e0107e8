package dotagent

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"pawl"
	"pawl/internal/interop/format"
)

// buildProject fills in the Project from what was read.
func (r *workflowReader) buildProject() {
	at := r.currentPhase()
	r.addLaterApprovals()
	r.askRequirements(at)
	for p := requirements; p < phaseEnd; p++ {
		for i := range r.steps[p] {
			r.steps[p][i].Criteria = r.criteria(r.steps[p][i])
		}
		r.out.Phases = append(r.out.Phases, format.Phase{Name: p.String(), Steps: r.steps[p]})
	}
	r.out.Name, r.out.ID, r.out.Goal = r.workflowName(), r.flow.id, oneLine(r.goal())
	r.out.Native = r.flow.word
	r.out.Created, r.out.Updated = r.flow.started, r.activity()
	r.approvals()
	r.status(at)
	r.position(at)
	r.checkAge(at)
	r.facts()
	if fault := r.flow.order(); len(fault) > 0 && !r.flow.torn {
		r.Warn(phasePath, "%s; completed phases are taken from the reports", strings.Join(fault, ", "))
	}
	if r.out.Status != pawl.StatusCompleted {
		r.out.Prompt = r.prompt(at)
	}
}

// addLaterApprovals adds gates for the requirements and the designs, if they are not done and not approved yet.
func (r *workflowReader) addLaterApprovals() {
	ask := func(p phase, id pawl.StepID, gate pawl.GateAction, output string) {
		first, rest := r.steps[p][0], r.steps[p][1:]
		if _, approved := r.flow.approved[p]; approved || first.Status == pawl.Done || first.Status == pawl.Skipped {
			return
		}
		step := format.Step{ID: id, Name: "Approval", Status: pawl.Pending, Needs: []pawl.StepID{first.ID}, Gate: &gate}
		first.Outputs = []string{output}
		for i := range rest {
			rest[i].Needs = []pawl.StepID{id}
		}
		r.steps[p] = slices.Concat([]format.Step{first, step}, rest)
	}
	const designs = reportsFolder + "designs/*.json"
	ask(requirements, stepDemandIsGood, pawl.GateAction{Type: pawl.HumanVerify, Ask: r.askDemand()}, requirements.report())
	ask(architecture, stepDesignIsGood, pawl.GateAction{Type: pawl.DecisionFor, Ask: "Which design should workflow " + r.workflowName() + " use?", OptionsFrom: designs}, designs)
}

func (r *workflowReader) askDemand() string {
	return "Are the requirements of workflow " + r.workflowName() + " in memory/reports/demand.json approved?"
}

// askRequirements adds a gate for the requirements if the workflow was interrupted between writing them and recording their
// approval. They are not written again.
func (r *workflowReader) askRequirements(at phase) {
	_, approved := r.flow.approved[requirements]
	first := &r.steps[architecture][0]
	if at != architecture || r.flow.current != requirements || approved || r.flow.has(requirements) || first.Status != pawl.Pending {
		return
	}
	g := pawl.Gate{
		Step: first.ID, Type: pawl.HumanVerify, Ask: r.askDemand(), Opened: r.flow.updated,
	}
	g.ID = g.Identify()
	first.Status, first.Why = pawl.AwaitsGate, "the requirements wait for a person's approval"
	r.out.Gates = append(r.out.Gates, format.Gate{Gate: g, Native: "user_checkpoint"})
}

// approvals adds the recorded approvals as decisions.
func (r *workflowReader) approvals() {
	for p := requirements; p < phaseEnd; p++ {
		at, approved := r.flow.approved[p]
		if !approved {
			continue
		}
		g := pawl.Gate{Type: pawl.HumanVerify, Ask: "Is " + p.String() + " of workflow " + r.workflowName() + " approved?", Opened: at}
		g.ID = g.Identify()
		r.out.Gates = append(r.out.Gates, format.Gate{Gate: g, Native: "user_checkpoint", Answer: "approved"})
	}
}

// activity returns the time of the workflow's last write, by the times in its files.
func (r *workflowReader) activity() time.Time {
	last := newest(r.flow.started, r.flow.updated)
	for _, c := range r.flow.completed {
		last = newest(last, c.when)
	}
	for _, at := range r.flow.approved {
		last = newest(last, at)
	}
	for _, t := range r.tasks {
		last = newest(last, t.started, t.ended)
	}
	if f := r.file(phasePath); last.IsZero() && f != nil && !f.Changed.After(r.env.Now) {
		last = f.Changed.UTC()
	}
	return last
}

// status returns the status of the run, and why it can or cannot be resumed. dotagent only resumes a workflow that is in
// progress; one that is complete, pending or failed would start over and lose its work.
func (r *workflowReader) status(at phase) {
	waits := slices.ContainsFunc(r.out.Gates, func(g format.Gate) bool { return g.Answer == "" })
	switch {
	case at == phaseEnd:
		r.out.Status, r.out.Resume, r.out.Next = pawl.StatusCompleted, "nothing to do: the workflow is complete", "archive it"
		return
	case r.flow.lost:
		r.out.Status, r.out.Resume = pawl.StatusInterrupted, "State appears corrupted: completed phases are taken from the reports"
	case r.flow.status == isFailed:
		r.out.Status, r.out.Resume = pawl.StatusFailed, "resumable: "+at.String()+" failed and will be tried again"
	case waits:
		r.out.Status, r.out.Resume = pawl.StatusWaiting, "resumable: a person is asked again"
	case r.flow.Value == nil && !r.flow.torn:
		r.out.Status, r.out.Resume = pawl.StatusInterrupted, "no state: completed phases are taken from the reports"
	default:
		r.out.Status, r.out.Resume = pawl.StatusInterrupted, "resumable from "+at.String()
	}
	if r.flow.status != isRunning && r.flow.status != "" {
		r.Warn(r.flow.at("phase_status").where(), "phase_status is %s, which makes dotagent start over; the workflow is resumable", r.flow.word)
	}
	r.out.Next = r.next(at)
}

// next returns what to do first, as text.
func (r *workflowReader) next(at phase) string {
	i := slices.IndexFunc(r.steps[at], func(s format.Step) bool { return s.Status != pawl.Done && s.Status != pawl.Skipped })
	first := r.steps[at][i]
	moved := ""
	if c := r.flow.current; c != unknown && c < at {
		moved = "the output of " + c.String() + " exists: "
	}
	if at != implementation || len(r.tasks) == 0 {
		verb := "spawn"
		switch {
		case first.Status == pawl.AwaitsGate:
			return moved + "ask again: " + first.Why
		case at == r.flow.current:
			verb = "spawn again"
		}
		return moved + verb + " " + first.Agent + " (" + at.String() + ")"
	}
	open := 0
	for _, s := range r.steps[at] {
		if s.Status != pawl.Done && s.Status != pawl.Skipped {
			open++
		}
	}
	return moved + "continue with task " + string(first.ID) + " (" + of(open, len(r.tasks), "tasks left") + ")"
}

// position returns the position of the workflow.
func (r *workflowReader) position(at phase) {
	pos := &r.out.Position
	pos.PhaseTotal, pos.Complete = len(words), at == phaseEnd
	pos.Phase = min(int(at)+1, len(words))
	pos.PhaseName = min(at, reflection).String()
	done := 0
	for p, steps := range r.steps {
		for _, s := range steps {
			pos.StepTotal++
			if s.Status == pawl.Done || s.Status == pawl.Skipped {
				done++
			} else if phase(p) == at && pos.StepID == "" {
				pos.Step, pos.StepID, pos.StepName = pos.StepTotal, s.ID, cmp.Or(s.Name, string(s.ID))
			}
		}
	}
	if at == phaseEnd {
		pos.Step = pos.StepTotal
	}
	r.out.Percent = 100 * done / max(pos.StepTotal, 1)
}

// checkAge warns of a state without recent activity. dotagent uses the start time instead, so it calls a long-running
// workflow ancient although it was active a moment ago.
func (r *workflowReader) checkAge(at phase) {
	age := r.env.Now.Sub(r.out.Updated)
	if at == phaseEnd || r.out.Updated.IsZero() {
		return
	}
	if age >= ancientAge {
		r.addBadTime(r.Find(pawl.Warn, phasePath, "pawl import dotagent --fresh", "no activity for %s: archive it and start over, or resume with caution", days(age)))
		return
	}
	if age < activeWindow {
		r.Warn(phasePath, "last activity %s ago: check whether somebody still works on it", age.Truncate(time.Second))
	}
}

// activeWindow is how long after the last activity a session may still be alive: dotagent has no heartbeat.
const activeWindow = 10 * time.Minute

// facts adds everything else in the files.
func (r *workflowReader) facts() {
	fact := func(name, text string) {
		if text != "" {
			r.out.Facts[name] = text
		}
	}
	if v := r.flow.Get("interruption_safe"); v != nil {
		fact("interruption_safe", string(v.Raw()))
	}
	fact("current phase", r.flow.current.String())
	for name, folder := range map[string]string{
		"contracts": "memory/contracts/", "knowledge": "memory/knowledge/*/", "evolution": "memory/evolution/", "reflections": reflectionsFor,
		"designs": reportsFolder + "designs/",
	} {
		if n := len(r.filesIn(folder)); n > 0 {
			fact(name, fmt.Sprintf("%d files", n))
		}
	}
	if old := archives(r.files); len(old) > 0 {
		fact("archived workflows", strconv.Itoa(len(old)))
	}
	r.unknownKeys()
}

// knownKeys are the keys of phase.json that other functions read.
var knownKeys = []string{"workflow_id", "started_at", "last_updated", "current_phase", "phase_status", "completed_phases", "user_checkpoints", "interruption_safe"}

// unknownKeys adds the unknown keys of phase.json as facts.
func (r *workflowReader) unknownKeys() {
	if r.flow.Value == nil {
		return
	}
	for _, m := range r.flow.Members {
		if key := oneLine(m.Key); !slices.Contains(knownKeys, m.Key) && key != "" {
			r.out.Facts["phase.json "+key] = oneLine(string(m.Value.Raw()))
		}
	}
}

// prompt returns what dotagent prints before it resumes.
func (r *workflowReader) prompt(at phase) string {
	var done []string
	for p := requirements; p < at; p++ {
		done = append(done, p.String())
	}
	last := "unknown"
	if !r.out.Updated.IsZero() {
		last = r.out.Updated.Format(time.RFC3339)
	}
	return fmt.Sprintf("Resuming workflow %s from %s phase\nLast activity: %s\nCompleted: %s\n",
		r.workflowName(), at, last, cmp.Or(strings.Join(done, ", "), "nothing"))
}

// archives returns the folders of archived workflows, the oldest first.
func archives(files format.Files) []string {
	var all []string
	for _, f := range files {
		if folder := path.Dir(f.Path); strings.HasPrefix(f.Path, archiveFolder) && !slices.Contains(all, folder) {
			all = append(all, folder)
		}
	}
	slices.SortFunc(all, func(a, b string) int {
		return cmp.Or(stampOf(a).Compare(stampOf(b)), cmp.Compare(a, b))
	})
	return all
}

// stampOf returns the time in the name of an archive, after the workflow's id; zero if it has none.
func stampOf(folder string) time.Time {
	id, stamp, _ := cutLast(path.Base(folder), "_")
	if _, date, two := cutLast(id, "_"); two && !strings.Contains(stamp, "T") {
		if at := stampIn(date + "_" + stamp); !at.IsZero() {
			return at
		}
	}
	return stampIn(stamp)
}

// stampForm is the time format in the names of pawl's archives. Others vary, since the document does not define one.
const stampForm = "20060102T150405Z"

var stampForms = []string{
	stampForm, time.RFC3339, "2006-01-02T15-04-05Z07:00", "2006-01-02T15-04-05", "2006-01-02T15:04:05", "20060102T150405", "20060102-150405", "20060102150405",
	"20060102_150405", "2006-01-02_15-04-05", "2006-01-02_15:04:05", "2006-01-02", "20060102",
}

// stampIn parses a time in any known format, or in seconds or milliseconds since 1970.
func stampIn(text string) time.Time {
	for _, form := range stampForms {
		if at, err := time.Parse(form, text); err == nil && at.Year() >= 2000 {
			return at.UTC()
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err == nil && len(text) == 10:
		return time.Unix(n, 0).UTC()
	case err == nil && len(text) == 13:
		return time.UnixMilli(n).UTC()
	}
	return time.Time{}
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}
