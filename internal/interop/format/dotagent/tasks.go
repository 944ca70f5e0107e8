package dotagent

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/textedit/jsonedit"
)

// task is one task of the implementation.
type task struct {
	node
	spot      string // file and line
	id        string
	name      string // made up; no file has a name
	step      pawl.StepID
	native    string // its status, as written
	attempts  int
	why       string // its last error
	started   time.Time
	ended     time.Time
	out       string // path of its output
	named     bool   // the path comes from execution.json
	output    *output
	doubt     string // why its output is invalid
	unlisted  bool   // it has a folder, and is not in execution.json
	status    pawl.StepStatus
	reason    string // why it has this status
	orphan    bool   // it was running, and has no output
	exhausted bool   // it has used all attempts
}

func (t *task) where() string { return t.spot }

// lines counts the lines of a text incrementally.
type lines struct {
	text     []byte
	from, no int
}

// at returns the line of a byte offset, from 1.
func (l *lines) at(offset int) int {
	if offset < l.from {
		l.from, l.no = 0, 0
	}
	l.no += bytes.Count(l.text[l.from:offset], []byte("\n"))
	l.from = offset
	return l.no + 1
}

// taskStatus returns pawl's status for a status of a task. Pre-complete and verified tasks are both done if their outputs
// exist.
func taskStatus(word string) pawl.StepStatus {
	switch strings.ToLower(strings.NewReplacer("-", "_", " ", "_").Replace(strings.TrimSpace(word))) {
	case "", "pending", "ready", "not_started", "queued":
		return pawl.Pending
	case "running", "in_progress", "active", "spawned":
		return pawl.Running
	case "pre_complete", "probably_complete", "verified", "complete", "completed", "done", "success":
		return pawl.Done
	case "blocked":
		return pawl.AwaitsGate
	case "failed", "error", "aborted":
		return pawl.FailedForGood
	case "skipped", "cancelled":
		return pawl.Skipped
	}
	return ""
}

// tasksIn returns the tasks of an execution.json with the path of each. They are in a list, in an object by id, or the file
// itself.
func tasksIn(root *jsonedit.Value) (path []string, list *jsonedit.Value) {
	if root.Is(jsonedit.Array) {
		return nil, root
	}
	for _, key := range []string{"tasks", "task_status"} {
		if v := root.Get(key); v.Is(jsonedit.Array) || v.Is(jsonedit.Object) {
			return []string{key}, v
		}
	}
	return nil, nil
}

// readTasks reads execution.json, and the folders of tasks that it does not list.
func (r *workflowReader) readTasks() {
	f := r.file(executionPath)
	whole := f == nil && !slices.Contains(r.env.Unread, executionPath) || f != nil && r.readExecution(f)
	for _, f := range r.files.Match(tasksFolder + "*/output.json") {
		if id := path.Base(path.Dir(f.Path)); r.task(id) == nil && !r.outputs[f.Path] {
			r.Warn(f.Path, "task %s is not in execution.json; its output decides", short(id))
			r.addTask(&task{node: node{file: f.Path}, spot: f.Path, id: id, out: f.Path, unlisted: true})
		}
	}
	if !whole {
		r.addUnlistedTask()
	}
	for _, t := range r.tasks {
		r.readOutput(t)
		r.evalTask(t)
	}
}

// readExecution reads execution.json, a truncated one as far as possible, and reports whether it was complete.
func (r *workflowReader) readExecution(f *format.File) bool {
	p, whole := r.parse(f)
	if !whole {
		text, _ := jsonedit.Torn(f.Data)
		p.Value, _ = jsonedit.Read(text)
	}
	r.lines = lines{text: f.Data}
	_, list := tasksIn(p.Value)
	if list == nil {
		r.Bad(p.where(), "it has no list of tasks")
		return false
	}
	r.readList(p, list)
	return whole
}

// restOf is the id of the task for those that a truncated execution.json does not list.
const restOf = "rest-of-implementation"

// addUnlistedTask adds a task for those that a truncated execution.json may have listed: a phase with unknown tasks is not
// done, unless phase.json says so.
func (r *workflowReader) addUnlistedTask() {
	if _, done := r.claimedOutput(implementation); done || len(r.tasks) == 0 || r.task(restOf) != nil {
		return
	}
	name := "The rest of final_design.json: execution.json is truncated and may have listed more tasks"
	r.addTask(&task{node: node{file: executionPath}, spot: executionPath, id: restOf, name: name, out: outputPath(restOf)})
	r.Warn(executionPath, "the file is truncated; tasks that it may have listed after that are left to step %s", r.task(restOf).step)
}

func (r *workflowReader) readList(p node, list *jsonedit.Value) {
	for _, m := range list.Members {
		if m.Value.Is(jsonedit.Object) {
			r.readTask(node{p.file, m.Value}, clean(m.Key))
		}
	}
	for _, item := range list.Items {
		e := node{p.file, item}
		switch id := e.first("id", "task_id"); {
		case item.Is(jsonedit.Object) && id != "":
			r.readTask(e, id)
		case item.Is(jsonedit.String) && e.text() != "":
			r.readTask(e, e.text())
		default:
			r.Bad(e.where(), "a task has no id")
		}
	}
}

func (r *workflowReader) readTask(e node, id string) {
	if r.task(id) != nil {
		r.Warn(e.where(), "duplicate task %s; the first one is used", short(id))
		return
	}
	t := &task{
		node: e, spot: e.file + ":" + strconv.Itoa(r.lines.at(e.From)), id: id, native: oneLine(e.text("status")), attempts: max(e.number("attempts"), e.number("attempts_made")),
		why: e.first("last_error", "failure_reason"), started: r.readTime(e, "started_at"), ended: r.readTime(e, "completed_at"),
	}
	if name := e.text("output"); name != "" {
		t.out = r.localPath(e.at("output"), name)
		t.named = t.out != ""
	}
	if t.out == "" {
		t.out, _ = format.Inside(outputPath(id))
	}
	r.addTask(t)
}

// outputPath returns the path of a task's output.
func outputPath(id string) string { return tasksFolder + id + "/output.json" }

func (r *workflowReader) task(id string) *task { return r.byID[id] }

// addTask adds a task, with a unique step id.
func (r *workflowReader) addTask(t *task) {
	t.step = r.used.next(t.id)
	r.byID[t.id] = t
	r.outputs[t.out] = true
	r.tasks = append(r.tasks, t)
}

// ids are the step ids in use, in lower case.
type ids map[string]bool

func newIDs() ids {
	taken := ids{}
	for _, id := range stepIDs {
		taken[string(id)] = true
	}
	return taken
}

// next returns a unique step id for a task: the task's own id if possible.
func (u ids) next(task string) pawl.StepID {
	id := pawl.StepIDOf(task)
	for n := 2; u[strings.ToLower(string(id))]; n++ {
		id = pawl.StepIDOf(fmt.Sprintf("%.48s-%d", pawl.StepIDOf(task), n))
	}
	u[strings.ToLower(string(id))] = true
	return id
}

// evalTask sets the status of a task, by its output.
func (r *workflowReader) evalTask(t *task) {
	status := taskStatus(t.native)
	if status == "" {
		r.Warn(t.at("status").where(), "task %s has the unknown status %s; its output decides", t.id, short(t.native))
		status = pawl.Running
	}
	if t.unlisted || t.native == "" && t.output != nil { // only its output says how it stands
		status = pawl.Running
	}
	switch status {
	case pawl.Running:
		r.evalRunning(t)
	case pawl.Done:
		r.checkOutput(t)
	default:
		t.status, t.reason = status, t.why
		if status == pawl.Pending && t.output != nil {
			r.Warn(t.where(), "task %s is pending but has an output: it is from an earlier attempt and is ignored", t.id)
		}
	}
	if t.attempts >= maxAttempts && t.status != pawl.Done && t.status != pawl.Skipped {
		t.exhausted = true
		t.reason = joined(t.reason, fmt.Sprintf("tried %d times, the most that dotagent allows", t.attempts))
	}
}

// evalRunning sets the status of a task that was running: the one in its output or, without one, pending.
func (r *workflowReader) evalRunning(t *task) {
	if t.output == nil {
		t.orphan = true
		t.attempts++
		t.status, t.reason = pawl.Pending, joined("it was running and left no output", t.doubt)
		r.Warn(t.where(), "task %s was running and left no output: this counts as a try, and it will rerun", t.id)
		return
	}
	t.status = taskStatus(t.output.status)
	if f := r.file(t.output.file); f != nil && t.ended.IsZero() && !f.Changed.After(r.env.Now) {
		t.ended = f.Changed.UTC() // no file has the time
	}
	switch t.status {
	case pawl.Done, pawl.FailedForGood, pawl.AwaitsGate, pawl.Skipped:
		t.reason = cmp.Or(t.output.reason, t.why)
		if !t.unlisted && t.native != "" {
			r.Warn(t.where(), "task %s was running, and its output says %s: the state was not updated", t.id, short(t.output.status))
		}
	default:
		t.status, t.reason = pawl.Pending, "its output does not say how it ended"
		r.Warn(t.output.where(), "task %s: its output does not say how it ended", t.id)
	}
}

// checkOutput checks the output of a task that is listed as done.
func (r *workflowReader) checkOutput(t *task) {
	switch {
	case t.output != nil && (t.output.status == "" || taskStatus(t.output.status) == pawl.Done):
		t.status = pawl.Done
	case t.output != nil:
		t.status, t.reason = pawl.Pending, "its output says "+oneLine(t.output.status)
		r.Warn(t.where(), "task %s is marked %s, but its output says %s", t.id, t.native, short(t.output.status))
	case t.doubt == "" && r.flow.has(implementation):
		t.status, t.reason = pawl.Done, "its output is missing, but its phase is done"
		r.Warn(t.where(), "task %s is marked %s and its output is missing; accepted, since its phase is marked done", t.id, t.native)
	default:
		t.status, t.reason = pawl.Pending, joined("it is marked "+t.native+", but no output proves it", t.doubt)
		r.Warn(t.where(), "task %s is marked %s, but no output at %s proves it: it will rerun", t.id, t.native, t.out)
	}
}

func joined(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), "; ")
}

// needs returns the dependencies of a task; nil if it has no such key.
func (r *workflowReader) needs(t *task) []pawl.StepID {
	for _, key := range []string{"depends_on", "dependencies", "needs"} {
		if t.Get(key) == nil {
			continue
		}
		ids := []pawl.StepID{}
		for _, name := range t.texts(key) {
			if other := r.task(name); other != nil && other != t && !slices.Contains(ids, other.step) {
				ids = append(ids, other.step)
			}
		}
		return ids
	}
	return nil
}
