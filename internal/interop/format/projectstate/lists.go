package projectstate

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"

	"pawl"
	"pawl/internal/interop/tables/dump"
	"pawl/internal/textedit/jsonedit"
)

// lists returns the completed and pending tasks, as JSON. Existing entries keep their positions, also those of tasks that
// are not in the plan. Skipped tasks are in neither list.
func (w *rowWriter) lists() map[string]string {
	completed, pending, skipped := []string{}, []string{}, []string{}
	for _, s := range w.Plan.Steps() {
		name, st := w.nameOf(s.ID), w.State.Steps[s.ID]
		switch {
		case !st.Finished():
			pending = append(pending, name)
		case st.Status == pawl.Done || w.hasOutcome(name, pawl.Skipped):
			completed = append(completed, name)
		default:
			skipped = append(skipped, name)
		}
	}
	return map[string]string{
		"completed_tasks": w.list("completed_tasks", completed, slices.Concat(pending, skipped)),
		"pending_tasks":   w.list("pending_tasks", pending, slices.Concat(completed, skipped)),
	}
}

// list returns an updated list of names: with some, and without others.
func (w *rowWriter) list(column string, with, without []string) string {
	there := "[]"
	if w.entry != nil {
		if v := w.existingList(column); v != nil {
			there = string(v.Raw())
			with = w.withoutCurrent(with, names(v))
		}
	}
	v, err := jsonedit.Read([]byte(there))
	if err != nil || !v.Is(jsonedit.Array) || len(v.Items) == 0 {
		return spaced(with)
	}
	out := []byte(there)
	for i, item := range slices.Backward(v.Items) {
		if name := nameOf(item); slices.Contains(without, name) {
			if out, err = jsonedit.Remove(out, strconv.Itoa(i)); err != nil {
				return there
			}
		}
	}
	have := names(v)
	for _, name := range with {
		if slices.Contains(have, name) {
			continue
		}
		if left, err := jsonedit.Read(out); err != nil || len(left.Items) == 0 {
			out = []byte(spaced([]string{name}))
		} else if out, err = jsonedit.Append(out, name); err != nil {
			return there
		}
	}
	return string(out)
}

// withoutCurrent returns names without the current task, unless the list has it already. Their program removes a task from
// the pending ones when it assigns it; pawl does not.
func (w *rowWriter) withoutCurrent(with, have []string) []string {
	current := w.current()
	return slices.DeleteFunc(slices.Clone(with), func(name string) bool {
		return pawl.StepIDOf(name) == current && !slices.Contains(have, name) && !w.State.Steps[current].Finished()
	})
}

// existingList returns a list from its own column or from the metadata.
func (w *rowWriter) existingList(column string) *jsonedit.Value {
	if v, own := w.entry.Get(column); own {
		list, err := jsonedit.Read([]byte(v.Text))
		if err != nil {
			return nil
		}
		return list
	}
	return w.entry.meta.Get(column)
}

// metadata returns the row's metadata with the outcomes of the tasks, and the lists if they have no columns.
func (w *rowWriter) metadata(lists map[string]string) string {
	if w.oddMetadata() {
		return text(w.entry.Row, "metadata")
	}
	m := &members{text: []byte("{}")}
	if w.entry != nil && w.entry.meta != nil {
		m.text = []byte(text(w.entry.Row, "metadata"))
	}
	columns := w.source.Table(statesTable).Columns
	for _, name := range []string{"completed_tasks", "pending_tasks"} {
		if !slices.Contains(columns, name) {
			m.set(json.RawMessage(lists[name]), name)
		}
	}
	for _, s := range w.Plan.Steps() {
		st := w.State.Steps[s.ID]
		if st == nil || st.Status != pawl.Done && st.Status != pawl.FailedForGood && st.Status != pawl.Skipped {
			continue
		}
		name, said := w.nameOf(s.ID), map[pawl.StepStatus]string{pawl.Done: "success", pawl.FailedForGood: "failure", pawl.Skipped: "skipped"}[st.Status]
		if old := m.text; st.Status == pawl.FailedForGood || !w.hasOutcome(name, st.Status) {
			if m.set(said, "task_results", name, "outcome"); string(old) != string(m.text) && st.Status != pawl.Skipped {
				m.set(w.agentOf(s), "task_owners", name)
			}
			if st.Status == pawl.Skipped && st.Why != "" {
				m.set(clip(st.Why, 500), "task_results", name, "summary")
			}
		}
	}
	return string(m.text)
}

// signed returns metadata with what pawl states in the row: the run that writes it, the status and the position, by the values that
// the written row has. A position that someone else set, and that pawl replaces, is kept there.
func (w *rowWriter) signed(meta string, theirs map[string]string, written func(column string) string) dump.Value {
	if w.oddMetadata() {
		return dump.TextOf(meta)
	}
	m := &members{text: []byte(meta)}
	m.set(string(w.State.Run), "pawl", "run")
	m.set(w.status(), "pawl", "status")
	m.set(positionDigest(written), "pawl", "position")
	if theirs != nil {
		m.set(theirs, "pawl", "replaced")
	}
	return dump.TextOf(string(m.text))
}

// isSigned reports whether the run has written the row before.
func (w *rowWriter) isSigned() bool { return w.entry.ofTask("pawl", "run") == string(w.State.Run) }

// oddMetadata reports whether the row's metadata is not an object. Then it stays as it is.
func (w *rowWriter) oddMetadata() bool {
	return w.entry != nil && w.entry.meta == nil && text(w.entry.Row, "metadata") != ""
}

// hasOutcome reports whether the row already has the outcome of a task.
func (w *rowWriter) hasOutcome(name string, status pawl.StepStatus) bool {
	if w.entry == nil {
		return false
	}
	said := w.entry.ofTask("task_results", name, "outcome")
	as, _ := outcome(said)
	return said != "" && as == status && slices.Contains(w.entry.completed, name)
}

// members is a JSON object whose members are set one by one.
type members struct{ text []byte }

// set sets the value at a path, unless a parent is not an object.
func (m *members) set(value any, path ...string) {
	if v, err := jsonedit.Read(m.text); err != nil || len(v.Members) == 0 {
		for i := len(path) - 1; i >= 0; i-- {
			value = map[string]any{path[i]: value}
		}
		m.text = []byte(spaced(value))
		return
	}
	if out, err := jsonedit.Set(m.text, value, path...); err == nil {
		m.text = out
	}
}

// spaced encodes a value as JSON on one line, with spaces as Python writes them.
func spaced(value any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return "null"
	}
	var out []byte
	inString := false
	for i, c := range bytes.TrimSuffix(b.Bytes(), []byte("\n")) {
		out = append(out, c)
		switch {
		case c == '"' && !escaped(b.Bytes()[:i]):
			inString = !inString
		case (c == ',' || c == ':') && !inString:
			out = append(out, ' ')
		}
	}
	return string(out)
}

// escaped reports whether the character after a text is escaped by a backslash.
func escaped(before []byte) bool {
	return (len(before)-len(bytes.TrimRight(before, `\`)))%2 == 1
}
