package projectstate

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/evidence"
	"pawl/internal/interop/format"
	"pawl/internal/textedit/jsonedit"
)

// activityWindow is how long after its last activity a project may still have a running session.
const activityWindow = 10 * time.Minute

// recentWindow is how long before the last recorded action a file may have changed to belong to it. The decision counts that
// hour from the current time.
const recentWindow = time.Hour

// buildProject returns the Project of a row.
func (r *tablesReader) buildProject(e *entry) format.Project {
	out := format.Project{
		System: System, Name: cmp.Or(r.nameOf(e), "project-"+e.project[:min(len(e.project), 8)]), ID: e.project, Goal: r.ofProject(e, "goal", "description"),
		Native: e.native, Mode: pawl.Guided, Created: e.created, Updated: e.updated, Facts: map[string]string{},
	}
	steps, index := r.steps(e)
	out.Phases = []format.Phase{{Name: cmp.Or(e.phase, "implementation"), Steps: steps}}
	if out.Status = r.status(e); out.Status == pawl.StatusPaused {
		out.Native = "paused"
	}
	r.position(&out, steps, index)
	r.facts(&out, e)
	r.gates(&out, e)
	r.saved(&out, e)
	r.resume(&out, e, index >= 0 && steps[index].Partial != nil)
	if r.env.Scan != nil {
		c := r.census(e)
		out.Prompt = r.prompt(&out, e, c)
		if _, known := statusOf(e.native); index >= 0 && known && !r.hasNoAgent(e) && (out.Status == pawl.StatusInterrupted || out.Status == pawl.StatusActive) {
			r.evalCurrentTask(&out, e, &steps[index], c)
		}
	}
	r.askIfActive(&out, e)
	return out
}

// census counts the project's files without those that hold the tables, which change with every update.
func (r *tablesReader) census(e *entry) evidence.Census {
	var own []string
	for _, s := range r.sources {
		own = append(own, s.Path, s.Path+"-wal", s.Path+"-shm", s.Path+"-journal")
	}
	return r.env.Scan(e.updated.Add(-recentWindow), own...)
}

// steps returns the finished tasks, the current one and the pending ones, and the index of the current one, -1 for none.
func (r *tablesReader) steps(e *entry) ([]format.Step, int) {
	history := r.history(e)
	current := -1
	var steps []format.Step
	add := func(name string, status pawl.StepStatus) {
		id := pawl.StepIDOf(name)
		if slices.ContainsFunc(steps, func(s format.Step) bool { return strings.EqualFold(string(s.ID), string(id)) }) {
			return
		}
		s := format.Step{ID: id, Name: name, Goal: name, Status: status, Where: e.where(), Agent: e.ofTask("task_owners", name)}
		if status == pawl.Done {
			s.Ended = history.finished[name]
			s.Status, s.Why = outcome(e.ofTask("task_results", name, "outcome"))
			s.Summary = clip(e.ofTask("task_results", name, "summary"), 500)
			if s.Status == pawl.Skipped {
				s.Ended, s.Agent, s.Summary, s.Why = time.Time{}, "", "", s.Summary
			}
		}
		s.Role, s.Criteria = roleOf(s.Agent), map[string]bool{tookEffect: s.Status == pawl.Done}
		steps = append(steps, s)
	}
	for _, name := range e.completed {
		add(name, pawl.Done)
	}
	for _, name := range e.skipped() {
		add(name, pawl.Done)
	}
	if e.task != "" && !e.finished() {
		add(e.task, pawl.Running)
		if i := len(steps) - 1; i >= 0 && steps[i].Status == pawl.Running {
			current = i
			r.partial(&steps[i], e)
		}
	} else if e.task != "" {
		add(e.task, pawl.Done)
	}
	for _, name := range e.pending {
		add(name, pawl.Pending)
	}
	return steps, current
}

// roleOf returns the role of an agent in the table: its name, unless that is a program or a person that pawl put there.
func roleOf(agent string) string {
	if slices.Contains(pawl.AgentNames, pawl.AgentName(agent)) || slices.Contains([]string{"pawl", "person"}, agent) {
		return ""
	}
	return clip(agent, 100)
}

// finished reports whether the current task is among the finished ones.
func (e *entry) finished() bool { return slices.Contains(e.completed, e.task) }

// skipped returns the skipped tasks, which are in no list.
func (e *entry) skipped() []string {
	results := e.meta.Get("task_results")
	if !results.Is(jsonedit.Object) {
		return nil
	}
	var ids []string
	for _, m := range results.Members {
		said := m.Value.Get("outcome")
		if said.Is(jsonedit.String) && normalized(said.Text()) == "skipped" && m.Key != e.task && !slices.Contains(e.pending, m.Key) {
			ids = append(ids, m.Key)
		}
	}
	return ids
}

// ofTask returns a value in the metadata of a task.
func (e *entry) ofTask(path ...string) string {
	v := e.meta.Get(path...)
	if v.Is(jsonedit.String) {
		return v.Text()
	}
	return ""
}

// outcome returns the status for a recorded outcome of a finished task.
func outcome(said string) (pawl.StepStatus, string) {
	switch normalized(said) {
	case "failed", "failure", "fail", "error", "aborted", "cancelled", "canceled", "timeout", "blocked":
		return pawl.FailedForGood, "its outcome is " + said
	case "skipped":
		return pawl.Skipped, ""
	}
	return pawl.Done, ""
}

// partial returns the unfinished work of the current task.
func (r *tablesReader) partial(s *format.Step, e *entry) {
	s.Agent, s.Started = cmp.Or(e.agent, s.Agent), e.updated
	s.Role = roleOf(s.Agent)
	if e.action == "" {
		return
	}
	s.Partial = &format.Partial{Last: clip(e.action, 500)}
	verb, file := fileIn(e.action)
	if file == "" {
		return
	}
	if r.env.Exists != nil && !r.env.Exists(file) {
		r.Warn(e.where(), "the last action names %s, which is missing", file)
		return
	}
	if verb == "created" {
		s.Partial.Created = []string{file}
	} else {
		s.Partial.Modified = []string{file}
	}
}

// fileIn returns the file in an action such as "Created file auth.py", and what was done to it. It ignores a path that leads
// out of the project.
func fileIn(action string) (verb, file string) {
	words := strings.Fields(action)
	if len(words) < 2 {
		return "", ""
	}
	switch verb = strings.ToLower(words[0]); verb {
	case "wrote", "created":
		verb = "created"
	case "updated", "modified", "edited", "changed":
		verb = "modified"
	default:
		return "", ""
	}
	if strings.EqualFold(words[1], "file") && len(words) > 2 {
		words = words[1:]
	}
	name := strings.Trim(words[1], "`'\"()[]<>,;:.")
	if path.Ext(name) == "" && !strings.Contains(name, "/") {
		return "", ""
	}
	clean, err := format.Inside(name)
	if err != nil {
		return "", ""
	}
	return verb, clean
}

// status returns the status of the run. An active project without recent activity is interrupted, and so is one with an
// unknown status: see askToStart.
func (r *tablesReader) status(e *entry) pawl.RunStatus {
	status, known := statusOf(e.native)
	switch {
	case !known:
		r.Bad(e.where(), "status %q is not one of active, paused, completed, failed", clip(e.native, 40))
		return pawl.StatusInterrupted
	case status == pawl.StatusActive && normalized(r.ofProject(e, "status")) == "paused":
		return pawl.StatusPaused // the program pauses a project in the table projects only
	case status == pawl.StatusActive && (e.updated.IsZero() || r.env.Now.Sub(e.updated) >= activityWindow || r.nobodyAlive(e)):
		return pawl.StatusInterrupted
	}
	return status
}

// nobodyAlive reports whether it is proven that nobody works on a project, however short ago its row was written: every process that
// had the database open is dead, or a run of this pawl project wrote the row and has nothing running. Who reads keeps engines out.
func (r *tablesReader) nobodyAlive(e *entry) bool {
	if e.source.Abandoned {
		return true
	}
	written := e.ofTask("pawl", "position") == positionDigest(func(column string) string { return text(e.Row, column) })
	if r.env.Run == nil || !written {
		return false
	}
	run, _ := r.env.Run(e.ofTask("pawl", "run"))
	return run != nil && !r.env.Engine && len(run.Live()) == 0
}

// statusOf returns the run status for a status of the table, and whether it is known.
func statusOf(native string) (pawl.RunStatus, bool) {
	switch normalized(native) {
	case "active", "in_progress", "running":
		return pawl.StatusActive, true
	case "paused":
		return pawl.StatusPaused, true
	case "completed", "complete", "archived":
		return pawl.StatusCompleted, true
	case "failed":
		return pawl.StatusFailed, true
	}
	return "", false
}

func (r *tablesReader) position(out *format.Project, steps []format.Step, current int) {
	p := pawl.Position{Phase: 1, PhaseTotal: 1, PhaseName: out.Phases[0].Name, StepTotal: len(steps)}
	done := 0
	for i, s := range steps {
		if s.Status == pawl.Done || s.Status == pawl.Skipped {
			done++
		} else if current < 0 {
			current = i
		}
	}
	if current >= 0 {
		p.Step, p.StepID, p.StepName = current+1, steps[current].ID, steps[current].Name
	} else {
		p.Step, p.Complete = len(steps), out.Status == pawl.StatusCompleted
	}
	if len(steps) > 0 {
		out.Percent = 100 * done / len(steps)
	}
	out.Position = p
}

// facts keeps the other columns of the row.
func (r *tablesReader) facts(out *format.Project, e *entry) {
	for name, said := range map[string]string{
		"project": e.project, "last action": clip(e.action, 500), "agent": e.agent, "phase": e.phase, "task": e.task,
		"tasks completed": fmt.Sprint(len(e.completed)),
	} {
		if said != "" {
			out.Facts[name] = said
		}
	}
	if e.meta == nil {
		return
	}
	for _, m := range e.meta.Members {
		if v := m.Value; !slices.Contains([]string{"task_results", "task_owners", "completed_tasks", "pending_tasks"}, m.Key) {
			said := string(v.Raw())
			if v.Is(jsonedit.String) {
				said = v.Text()
			}
			out.Facts["metadata "+clip(m.Key, 60)] = clip(said, 200)
		}
	}
}

// resume determines, by the decision's own rule, whether the project may be resumed, and where.
func (r *tablesReader) resume(out *format.Project, e *entry, begun bool) {
	_, known := statusOf(e.native)
	switch out.Status {
	case pawl.StatusCompleted:
		out.Resume = "nothing to do: it is completed"
	case pawl.StatusPaused:
		out.Resume = "resumable on request: it is paused"
	case pawl.StatusFailed:
		out.Resume = "it failed: review it first"
	case pawl.StatusActive:
		out.Resume = "active less than ten minutes ago, and its session may still be running: review it first"
	default:
		if out.Resume = "resumable: it is active, but its session had no activity in the last ten minutes"; !known {
			out.Resume = "its status is unknown: review it first"
		}
	}
	switch {
	case out.Status == pawl.StatusCompleted:
	case r.hasNoAgent(e):
		out.Next = "a person decides whether task " + e.task + " is done: it has no agent and is not listed as completed"
	case e.task != "" && !e.finished() && begun:
		out.Next = fmt.Sprintf("continue task %s as %s: %s", e.task, e.agent, clip(e.action, 200))
	case out.Position.StepID != "":
		out.Next = "task " + out.Position.StepName
	}
}

// hasNoAgent reports whether the current task has no agent and is not known to be finished: nobody may have done it.
func (r *tablesReader) hasNoAgent(e *entry) bool {
	return e.task != "" && e.agent == "" && !e.finished()
}
