package projectstate

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/foreign/splice"
	"pawl/internal/foreign/sqldump"
)

// json returns the row as the program keeps it in its history, "" where there is no row.
func (e *entry) json() string {
	if e == nil {
		return ""
	}
	return e.members(func(string) bool { return true })
}

// members returns columns of the row as a JSON object, in their order.
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

// jsonOf returns a value as JSON: JSON as it is, times as the program writes them.
func jsonOf(c sqldump.Cell) string {
	switch {
	case c.Kind == sqldump.Null || c.Kind == sqldump.Expression:
		return "null"
	case slices.Contains([]string{"completed_tasks", "pending_tasks", "metadata"}, c.Column):
		if _, err := splice.ReadJSON([]byte(c.Text)); err == nil {
			return c.Text
		}
	case strings.HasSuffix(c.Column, "_at") || c.Column == "last_updated":
		if at, _, ok := parseTime(c.Text); ok {
			return spaced(at.Format("2006-01-02T15:04:05.000000+00:00"))
		}
	}
	return spaced(c.Text)
}

// remember adds to the history, where there is one, what was changed and how the row was before.
func (w *writer) remember(before string, changed []string) {
	t := w.source.Table(historyTable)
	if t == nil || !t.Takes("id") || !t.Takes("project_id") {
		return
	}
	change := "update_state"
	if slices.Contains(changed, "completed_tasks") {
		change = "record_task_completion"
	}
	w.source.Append(t, pairs(t,
		"id", w.newID("transaction", fmt.Sprint(w.State.Seq)), "project_id", w.project, "occurred_at", w.now(),
		"change_type", change, "payload", w.entry.members(func(column string) bool { return slices.Contains(changed, column) }),
		"actor", "pawl", "previous_state", before))
}

// now returns when the last event was, as times stand in the table.
func (w *writer) now() string {
	return likeTime(w.State.Updated.Truncate(time.Microsecond), w.model(""))
}

// newID returns an id of 32 hexadecimal digits, always the same one for the same thing.
func (w *writer) newID(what, which string) string {
	sum := sha256.Sum256([]byte(what + "\x00" + string(w.State.Run) + "\x00" + which))
	return hex.EncodeToString(sum[:16])
}

// pairs returns the columns that a table has of these, with their values; an empty one is null.
func pairs(t *sqldump.Table, given ...string) []sqldump.Pair {
	var row []sqldump.Pair
	for _, column := range t.Columns {
		for i := 0; i < len(given); i += 2 {
			if given[i] == column {
				v := sqldump.TextOf(given[i+1])
				if v.Text == "" {
					v = sqldump.Value{}
				}
				row = append(row, sqldump.Pair{Column: column, Value: v})
			}
		}
	}
	return row
}

// gates writes what people are asked, and what they said.
func (w *writer) gates() {
	t := w.source.Table(gatesTable)
	if t == nil || slices.ContainsFunc([]string{"id", "project_id", "reason", "status"}, func(c string) bool { return !t.Takes(c) }) {
		return // it is of something else
	}
	for i := range w.State.Gates {
		w.gate(t, &w.State.Gates[i])
	}
}

func (w *writer) gate(t *sqldump.Table, g *pawl.GateState) {
	id := w.newID("gate", string(g.ID))
	said, by, reason := "pending", "", ""
	switch {
	case g.Answer != nil:
		said, by, reason = "approved", "person", cmp.Or(g.Answer.Option, g.Answer.Why)
		if g.Answer.Answer == pawl.Rejected || g.Answer.Answer == pawl.Refused {
			said = "denied"
		}
	case !g.Open():
		said, by, reason = "denied", "pawl", cmp.Or(g.Withdrawn, "expired")
	}
	closed := ""
	if !g.Closed.IsZero() {
		closed = likeTime(g.Closed, w.model(""))
	}
	for _, row := range t.Rows {
		asked := text(row, "project_id") == w.project && clip(text(row, "reason"), 1000) == g.Ask // a gate that came from here
		if text(row, "id") != id && !asked {
			continue
		}
		for column, value := range map[string]string{"status": said, "resolved_by": by, "feedback": reason, "resolved_at": closed} {
			if _, there := row.Get(column); there && text(row, column) != value {
				w.source.Set(row, column, orNull(value, 1000))
			}
		}
		return
	}
	context, err := json.Marshal(map[string]string{"gate": string(g.ID), "step": string(g.Step), "run": string(w.State.Run)})
	if err != nil {
		return // it is made of texts
	}
	w.source.Append(t, pairs(t, "id", id, "project_id", w.project, "agent_id", w.stepAgent(g.Step), "gate_type", "manual", "reason", g.Ask,
		"context", string(context), "status", said, "created_at", likeTime(g.Opened, w.model("")), "resolved_at", closed, "resolved_by", by, "feedback", reason))
}
