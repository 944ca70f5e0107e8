package dotagent

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/textedit/jsonedit"
)

// taskOut is a task in a new execution.json.
type taskOut struct {
	ID        string `json:"id"`
	Name      string `json:"name,omitempty"`
	Status    string `json:"status"`
	Attempts  int    `json:"attempts"`
	Error     string `json:"last_error,omitempty"`
	Started   string `json:"started_at,omitempty"`
	Completed string `json:"completed_at,omitempty"`
	Output    string `json:"output"`
	Reason    string `json:"failure_reason,omitempty"`
}

// tasks returns the steps that are tasks: those of the implementation that have an action. The step that stands for all
// tasks of a workflow that was imported without any is not one.
func (m *workflowWriter) tasks() []*runStep {
	return slices.DeleteFunc(m.stepsIn(implementation), func(k *runStep) bool {
		return k.Gate != nil || m.State.Import.System == System && k.ID == stepImplementation
	})
}

// nativeStatus returns a task's status in dotagent's words. A task is verified only if acceptance checks passed; else it is
// pre-complete, so that dotagent verifies it.
func (k *runStep) nativeStatus() string {
	if k.state == nil {
		return "pending"
	}
	switch k.state.Status {
	case pawl.Done:
		if k.checked() {
			return isVerified
		}
		return "pre_complete"
	case pawl.Running:
		return "running"
	case pawl.AwaitsReview:
		return "pre_complete"
	case pawl.AwaitsGate:
		return "blocked"
	case pawl.FailedForGood:
		return "failed"
	case pawl.Skipped:
		return "skipped"
	}
	return "pending"
}

// began returns the start of the newest attempt of a task.
func (k *runStep) began() time.Time {
	if k.state == nil {
		return time.Time{}
	}
	at := k.state.Started
	for _, live := range k.state.Live() {
		at = newest(at, live.Started)
	}
	return at
}

// lastError returns why the last attempt failed, in one line.
func (k *runStep) lastError() string {
	if k.state == nil || k.state.Retries.Last == nil || k.state.Status == pawl.Done {
		return ""
	}
	last := k.state.Retries.Last
	return oneLine(cmp.Or(last.Why, last.Summary, string(last.Reason), string(last.Outcome)))
}

func (m *workflowWriter) task(k *runStep) taskOut {
	t := taskOut{ID: string(k.ID), Status: k.nativeStatus(), Error: k.lastError(), Output: outputPath(string(k.ID))}
	if k.Name != "" && k.Name != string(k.ID) {
		t.Name = oneLine(k.Name)
	}
	if k.state == nil {
		return t
	}
	t.Attempts = k.state.Attempts
	if k.state.Items != nil { // items have their own attempts; the task has the highest number
		t.Attempts = min(1, k.state.Attempts)
		for _, try := range k.state.Items.Retries {
			t.Attempts = max(t.Attempts, try.Failures)
		}
	}
	if at := k.began(); !at.IsZero() {
		t.Started = instant(at)
	}
	if k.done() {
		t.Completed = instant(k.state.Ended)
	}
	switch k.state.Status {
	case pawl.FailedForGood:
		t.Reason = oneLine(cmp.Or(k.state.Why, t.Error))
	case pawl.Skipped:
		t.Reason = oneLine("skipped: " + k.state.Why)
	}
	return t
}

// makeExecution updates execution.json task by task. It creates the file when the implementation begins, and replaces an
// unreadable one after archiving it.
func (m *workflowWriter) makeExecution() {
	tasks, f := m.tasks(), m.files.File(executionPath)
	if at, _ := m.currentPhase(); len(tasks) == 0 || f == nil && at < implementation {
		return
	}
	if f != nil {
		root, err := jsonedit.Read(f.Data)
		if err == nil {
			if path, list := tasksIn(root); list != nil {
				m.files.Put(executionPath, m.withTasks(f.Data, path, list, tasks))
				return
			}
		}
		m.archiveUnusable(f, m.id(), m.Now)
	}
	all := struct {
		ID    string    `json:"workflow_id"`
		Tasks []taskOut `json:"tasks"`
	}{ID: m.id()}
	for _, k := range tasks {
		all.Tasks = append(all.Tasks, m.task(k))
	}
	m.files.Put(executionPath, compact(all))
}

// withTasks updates the tasks in an execution.json, and adds missing ones.
func (m *workflowWriter) withTasks(text []byte, path []string, list *jsonedit.Value, tasks []*runStep) []byte {
	known := keysOf(list)
	for _, k := range tasks {
		t := m.task(k)
		key, there := known[k.ID]
		at := append(slices.Clone(path), key)
		switch {
		case there && list.Get(key).Is(jsonedit.Object):
			text = k.update(text, node{Value: list.Get(key)}, t, at)
		case there:
			text = set(text, t, at...)
		case list.Is(jsonedit.Array):
			text = appended(text, t, path...)
		default:
			text = set(text, t, append(slices.Clone(path), t.ID)...)
		}
	}
	return text
}

// keysOf returns the key or index of each task, by the id of its step.
func keysOf(list *jsonedit.Value) map[pawl.StepID]string {
	known, seen, taken := map[pawl.StepID]string{}, map[string]bool{}, newIDs()
	note := func(id, key string) {
		if id != "" && !seen[id] {
			seen[id] = true
			known[taken.next(id)] = key
		}
	}
	for i, item := range list.Items {
		e := node{Value: item}
		note(cmp.Or(e.first("id", "task_id"), e.text()), number(i))
	}
	for _, member := range list.Members {
		note(clean(member.Key), member.Key)
	}
	return known
}

// update changes the values of a task that differ. A status word with the same meaning stays, the number of attempts never
// decreases, and an attempt that dotagent does not know of adds one.
func (k *runStep) update(text []byte, old node, t taskOut, at []string) []byte {
	field := func(name string) []string { return append(slices.Clone(at), name) }
	begunHere := k.state != nil && k.state.Attempts > 0
	want := taskStatus(t.Status)
	differs := taskStatus(old.text("status")) != want && (begunHere || want != pawl.Pending && want != pawl.AwaitsGate)
	if differs {
		text = set(text, t.Status, field("status")...)
	}
	if differs && want == pawl.Skipped {
		text = set(text, t.Reason, field("failure_reason")...)
	}
	if begunHere {
		text = k.updateAttempt(text, old, t, field)
	}
	if t.Completed != "" && (begunHere || differs) {
		text = setTime(text, k.state.Ended, field("completed_at")...)
	}
	return text
}

// updateAttempt changes the values that depend on the attempt.
func (k *runStep) updateAttempt(text []byte, old node, t taskOut, field func(string) []string) []byte {
	attempts, started := max(old.number("attempts"), t.Attempts), k.began().Truncate(time.Millisecond)
	before, _, ok := format.ParseTime(old.text("started_at"))
	if !ok || started.After(before) {
		attempts = max(attempts, old.number("attempts")+1)
	}
	if attempts != old.number("attempts") {
		text = set(text, attempts, field("attempts")...)
	}
	if !ok || started.After(before) {
		text = setTime(text, started, field("started_at")...)
	}
	if t.Completed == "" && old.text("completed_at") != "" {
		text = removed(text, field("completed_at")...)
	}
	if t.Error != "" && old.text("last_error") != t.Error {
		text = set(text, t.Error, field("last_error")...)
	}
	if t.Reason != "" && old.text("failure_reason") != t.Reason {
		text = set(text, t.Reason, field("failure_reason")...)
	}
	if old.text("output") == "" {
		text = set(text, t.Output, field("output")...)
	}
	return text
}

// modified is a changed file in the output of a task.
type modified struct {
	Path    string `json:"path"`
	Type    string `json:"change_type"`
	Summary string `json:"summary"`
}

// change returns what a task did to a file, if it is known whether the file existed before.
func (m *workflowWriter) change(k *runStep, name string) string {
	if m.Existed == nil || strings.ContainsAny(name, "*?[") {
		return "unknown"
	}
	switch existed, known := m.Existed(k.ID, name); {
	case !known:
		return "unknown"
	case existed:
		return "modified"
	}
	return "created"
}

// makeOutputs writes the output of each task that is done and did not write its own. It replaces an output that pawl wrote
// for an older task with the same name.
func (m *workflowWriter) makeOutputs() {
	elsewhere := m.otherOutputs()
	for _, k := range m.tasks() {
		name, err := format.Inside(outputPath(string(k.ID)))
		if f := m.files.File(name); err != nil || !k.done() || k.leftOutput() || elsewhere[k.ID] || f != nil && (!isOurs(f.Data) || !f.Changed.Before(k.state.Started)) {
			continue
		}
		if _, itself := k.state.Outputs[name]; itself {
			continue
		}
		out := struct {
			ID        string     `json:"task_id"`
			Status    string     `json:"status"`
			Summary   string     `json:"summary"`
			Files     []modified `json:"files_modified"`
			Knowledge []string   `json:"knowledge_updates"`
			Source    string     `json:"source"`
		}{string(k.ID), "pre_complete", oneLine(k.state.Summary), []modified{}, []string{}, "pawl"}
		for _, path := range slices.Sorted(maps.Keys(k.state.Outputs)) {
			out.Files = append(out.Files, modified{path, m.change(k, path), ""})
		}
		m.files.Put(name, compact(out))
	}
}

// otherOutputs returns the tasks whose outputs have another path in execution.json.
func (m *workflowWriter) otherOutputs() map[pawl.StepID]bool {
	found := map[pawl.StepID]bool{}
	f := m.files.File(executionPath)
	if f == nil {
		return found
	}
	root, err := jsonedit.Read(f.Data)
	if err != nil {
		return found
	}
	_, list := tasksIn(root)
	for _, e := range (node{Value: list}).list() {
		if id := e.first("id", "task_id"); id != "" && e.text("output") != "" && e.text("output") != outputPath(id) {
			found[pawl.StepIDOf(id)] = true
		}
	}
	return found
}
