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

// lists returns the tasks that are completed and pending, as JSON. Those that are there stay where they stand, also tasks
// that the plan does not have. What was skipped is neither.
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

// list returns a list of names as it is to be: with those, and without the others.
func (w *rowWriter) list(column string, with, without []string) string {
	there := "[]"
	if w.entry != nil {
		if v := w.listThere(column); v != nil {
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

// withoutCurrent returns names without the current task, unless a list has it already: their program takes it out of those that are
// pending when it hands it out, ours leaves it in.
func (w *rowWriter) withoutCurrent(with, have []string) []string {
	current := w.current()
	return slices.DeleteFunc(slices.Clone(with), func(name string) bool {
		return pawl.StepIDOf(name) == current && !slices.Contains(have, name) && !w.State.Steps[current].Finished()
	})
}

// listThere returns a list that the row has, in a column of its own or in its metadata.
func (w *rowWriter) listThere(column string) *jsonedit.Value {
	if v, own := w.entry.Get(column); own {
		list, err := jsonedit.Read([]byte(v.Text))
		if err != nil {
			return nil
		}
		return list
	}
	return w.entry.meta.Get(column)
}

// metadata returns the row's metadata with what is known of the tasks, and the lists where they have no columns.
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

// withRunID returns metadata that names the run by which the row is kept.
func (w *rowWriter) withRunID(meta string) dump.Value {
	m := &members{text: []byte(meta)}
	if !w.oddMetadata() {
		m.set(string(w.State.Run), "pawl", "run")
	}
	return dump.TextOf(string(m.text))
}

// oddMetadata reports whether the row's metadata is no object: it stays as it is.
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

// set sets what stands at a path, unless something else than an object is in its way.
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

// spaced returns a value as JSON on one line, with the spaces that Python puts in.
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

// escaped reports whether what follows a text stands behind a backslash that counts.
func escaped(before []byte) bool {
	return (len(before)-len(bytes.TrimRight(before, `\`)))%2 == 1
}
