package projectstate

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/interop/tables/dump"
	"pawl/internal/textedit/jsonedit"
)

// json returns the row as the program records it in its history, "" if there is no row.
func (e *entry) json() string {
	if e == nil {
		return ""
	}
	return e.members(func(string) bool { return true })
}

// members returns columns of the row as a JSON object, in order.
func (e *entry) members(which func(column string) bool) string {
	var b strings.Builder
	for _, c := range e.Cells {
		if !which(c.Column) || c.Column == "id" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s: %s", spaced(c.Column), jsonOf(c))
	}
	return "{" + b.String() + "}"
}

// jsonOf returns a value as JSON: JSON unchanged, times as the program writes them.
func jsonOf(c dump.Cell) string {
	switch {
	case c.Kind == dump.Null || c.Kind == dump.Expression:
		return "null"
	case slices.Contains([]string{"completed_tasks", "pending_tasks", "metadata"}, c.Column):
		if _, err := jsonedit.Read([]byte(c.Text)); err == nil {
			return c.Text
		}
	case isTime(c.Column):
		if at, _, ok := format.ParseTime(c.Text); ok {
			return spaced(at.Format("2006-01-02T15:04:05.000000+00:00"))
		}
	}
	return spaced(c.Text)
}

// addTransaction adds the change and the previous row to an existing history table.
func (w *rowWriter) addTransaction(before string, changed []string) {
	t := w.source.Table(historyTable)
	if t == nil || !t.Takes("id") || !t.Takes("project_id") {
		return
	}
	change := "update_state"
	if slices.Contains(changed, "completed_tasks") {
		change = "record_task_completion"
	}
	w.source.Append(t, pairs(t,
		"id", w.newTransaction(t, before), "project_id", w.project, "occurred_at", w.now(),
		"change_type", change, "payload", w.entry.members(func(column string) bool { return slices.Contains(changed, column) }),
		"actor", "pawl", "previous_state", before))
}

// newTransaction returns a unique id for a history row, also if someone changed the row since pawl wrote the same change.
func (w *rowWriter) newTransaction(t *dump.Table, before string) string {
	id := w.newID("transaction", fmt.Sprint(w.State.Seq)+before)
	for slices.ContainsFunc(t.Rows, func(row *dump.Row) bool { return strings.ReplaceAll(text(row, "id"), "-", "") == id }) {
		id = w.newID("transaction", id)
	}
	return id
}

// now returns the time of the last event, in the table's format.
func (w *rowWriter) now() string {
	return likeTime(w.State.Updated.Truncate(time.Microsecond), w.model(""))
}

// newID returns a deterministic id of 32 hexadecimal digits.
func (w *rowWriter) newID(what, which string) string {
	sum := sha256.Sum256([]byte(what + "\x00" + string(w.State.Run) + "\x00" + which))
	return hex.EncodeToString(sum[:16])
}

// pairs returns the existing columns of a table with their values; an empty value is null.
func pairs(t *dump.Table, given ...string) []dump.Pair {
	var row []dump.Pair
	for _, column := range t.Columns {
		for i := 0; i < len(given); i += 2 {
			if given[i] == column {
				v := dump.TextOf(given[i+1])
				if v.Text == "" {
					v = dump.Value{}
				}
				row = append(row, dump.Pair{Column: column, Value: v})
			}
		}
	}
	return row
}

// gates writes the gates and their answers.
func (w *rowWriter) gates() {
	if t := w.gatesTable(); t != nil {
		for i := range w.State.Gates {
			if g := &w.State.Gates[i]; g == w.State.Gate(g.ID) {
				w.gate(t, g)
			}
		}
	}
}

// gatesTable returns the table of gates, nil if there is none or it has another purpose.
func (w *rowWriter) gatesTable() *dump.Table {
	t := w.source.Table(gatesTable)
	if t == nil || slices.ContainsFunc([]string{"id", "project_id", "reason", "status"}, func(c string) bool { return !t.Takes(c) }) {
		return nil
	}
	return t
}

// gate writes one gate: in pawl's row, or in the row of the table's own program that it was imported from. What someone else
// answered there stays.
func (w *rowWriter) gate(t *dump.Table, g *pawl.GateState) {
	id := w.newID("gate", string(g.ID))
	said := w.answer(g)
	row, own := w.rowOf(t, id, g.Ask)
	if row == nil {
		w.ask(t, id, g, said)
		return
	}
	now := normalized(text(row, "status"))
	theirs := now == said["status"] && !slices.Contains([]string{"", "person", "pawl"}, text(row, "resolved_by"))
	if stated := w.statedAnswer(row, own, g); !theirs && stated == now && (own || stated == "pending") {
		for column, value := range said {
			if _, there := row.Get(column); there && text(row, column) != value {
				w.source.Set(row, column, orNull(value, 1000))
			}
		}
	}
	if own && object(text(row, "context")) != nil {
		m := &members{text: []byte(text(row, "context"))}
		m.set(strconv.Itoa(w.openings(g.ID)), "opening")
		if m.set(said["status"], "status"); string(m.text) != text(row, "context") {
			w.source.Set(row, "context", dump.TextOf(string(m.text)))
		}
	}
}

// rowOf returns the row of a gate, and whether pawl added it.
func (w *rowWriter) rowOf(t *dump.Table, id, asked string) (row *dump.Row, own bool) {
	for _, r := range t.Rows {
		theirs := object(text(r, "context")).Get("gate") == nil
		switch {
		case strings.ReplaceAll(text(r, "id"), "-", "") == id:
			return r, true
		case theirs && text(r, "project_id") == w.project && clip(text(r, "reason"), 1000) == asked:
			row = r
		}
	}
	return row, false
}

// answer returns the result of a gate, in the table's words.
func (w *rowWriter) answer(g *pawl.GateState) map[string]string {
	said := map[string]string{"status": "pending", "resolved_by": "", "feedback": "", "resolved_at": ""}
	switch {
	case g.Answer != nil:
		said["status"], said["resolved_by"], said["feedback"] = "approved", "person", cmp.Or(g.Answer.Option, g.Answer.Why)
		if g.Answer.Answer == pawl.Rejected || g.Answer.Answer == pawl.Refused {
			said["status"] = "denied"
		}
	case !g.Open():
		said["status"], said["resolved_by"], said["feedback"] = "denied", "pawl", cmp.Or(g.Withdrawn, "expired")
	}
	if !g.Closed.IsZero() {
		said["resolved_at"] = likeTime(g.Closed, w.model(""))
	}
	return said
}

// ask adds a row for a gate.
func (w *rowWriter) ask(t *dump.Table, id string, g *pawl.GateState, said map[string]string) {
	context, err := json.Marshal(map[string]string{"gate": string(g.ID), "step": string(g.Step), "run": string(w.State.Run), "status": said["status"], "opening": strconv.Itoa(w.openings(g.ID))})
	if err != nil {
		return // it is made of texts
	}
	row := []string{
		"id", id, "project_id", w.project, "agent_id", w.stepAgent(g.Step), "gate_type", "manual", "reason", g.Ask, "context", string(context),
		"created_at", likeTime(g.Opened, w.model("")),
	}
	for column, value := range said {
		row = append(row, column, value)
	}
	w.source.Append(t, pairs(t, row...))
}
