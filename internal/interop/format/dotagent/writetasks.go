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

// taskOut is a task as a new execution.json has it.
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

// tasks returns the steps that are tasks: those of the implementation that do something. The step that stands for all tasks
// of a workflow that had none when it was imported is none itself.
func (m *workflowWriter) tasks() []*runStep {
	return slices.DeleteFunc(m.in(implementation), func(k *runStep) bool {
		return k.Gate != nil || m.State.Import.System == System && k.ID == stepImplementation
	})
}

// nativeStatus returns a task's status in dotagent's words. Verified is what acceptance checks passed for; what is done without
// any is pre-complete, so that dotagent would verify it.
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

// began returns when the newest attempt of a task began.
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

// wrong returns why the last attempt came to nothing, in one line.
func (k *runStep) wrong() string {
	if k.state == nil || k.state.Retries.Last == nil || k.state.Status == pawl.Done {
		return ""
	}
	last := k.state.Retries.Last
	return oneLine(cmp.Or(last.Why, last.Summary, string(last.Reason), string(last.Outcome)))
}

func (m *workflowWriter) task(k *runStep) taskOut {
	t := taskOut{ID: string(k.ID), Status: k.nativeStatus(), Error: k.wrong(), Output: outputOf(string(k.ID))}
	if k.Name != "" && k.Name != string(k.ID) {
		t.Name = oneLine(k.Name)
	}
	if k.state == nil {
		return t
	}
	t.Attempts = k.state.Attempts
	if k.state.Items != nil { // each item has its own, and the task has as many as the most tried
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

// makeExecution brings execution.json up to date, task by task; where it cannot be read, it is archived and made anew. It
// is made when the implementation begins.
func (m *workflowWriter) makeExecution() {
	tasks, f := m.tasks(), m.files.File(executionPath)
	if at, _ := m.standing(); len(tasks) == 0 || f == nil && at < implementation {
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

// withTasks changes the tasks that stand in an execution.json, and adds those that do not.
func (m *workflowWriter) withTasks(text []byte, path []string, list *jsonedit.Value, tasks []*runStep) []byte {
	known := keysOf(list)
	for _, k := range tasks {
		t := m.task(k)
		key, there := known[k.ID]
		at := append(slices.Clone(path), key)
		switch {
		case there && list.Get(key).Is(jsonedit.Object):
			text = k.merge(text, node{Value: list.Get(key)}, t, at)
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

// keysOf returns where each task stands in a list or an object, by the id of its step.
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

// merge changes what differs of a task. Its own word for a status stays where it means the same, its attempts are never
// fewer than they were, and an attempt that dotagent does not know of is one more.
func (k *runStep) merge(text []byte, old node, t taskOut, at []string) []byte {
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
		text = k.mergeTry(text, old, t, field)
	}
	if t.Completed != "" && (begunHere || differs) {
		text = setTime(text, k.state.Ended, field("completed_at")...)
	}
	return text
}

// mergeTry changes what an attempt changes.
func (k *runStep) mergeTry(text []byte, old node, t taskOut, field func(string) []string) []byte {
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

// modified is a file that a task changed, as its output has it.
type modified struct {
	Path    string `json:"path"`
	Type    string `json:"change_type"`
	Summary string `json:"summary"`
}

// change says what a task did to a file, as far as anybody knows how it was before.
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

// makeOutputs makes the output of each task that is done and did not write its own. One that pawl made for an older task of
// that name is made anew.
func (m *workflowWriter) makeOutputs() {
	elsewhere := m.elsewhere()
	for _, k := range m.tasks() {
		name, err := format.Inside(outputOf(string(k.ID)))
		if f := m.files.File(name); err != nil || !k.done() || k.leaves() || elsewhere[k.ID] || f != nil && (!isOurs(f.Data) || !f.Changed.Before(k.state.Started)) {
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

// elsewhere returns the tasks whose outputs execution.json has at another path.
func (m *workflowWriter) elsewhere() map[pawl.StepID]bool {
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
		if id := e.first("id", "task_id"); id != "" && e.text("output") != "" && e.text("output") != outputOf(id) {
			found[pawl.StepIDOf(id)] = true
		}
	}
	return found
}
