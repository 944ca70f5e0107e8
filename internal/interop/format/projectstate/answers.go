package projectstate

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/interop/tables/dump"
	"pawl/internal/textedit/jsonedit"
)

// Other programs and people write into the tables too. pawl records in the row's metadata and in the context of its gates what it
// last stated itself. A column that says something else was written by someone else: it is read, and never overwritten.

// statedStatus returns the status that pawl last stated in the row or, before this run has written it, that the row had when the run
// was imported; "" if unknown.
func (w *rowWriter) statedStatus() string {
	switch {
	case w.entry == nil:
		return ""
	case !w.isSigned() && w.State.Import.System == System && w.State.Import.ID == w.project:
		return normalized(w.State.Import.Status)
	}
	return normalized(w.entry.ofTask("pawl", "status"))
}

// foreignStatus returns the status that someone else has set since pawl last stated one, "" if nobody has.
func (w *rowWriter) foreignStatus() string {
	stated := w.statedStatus()
	if stated == "" {
		return ""
	}
	if now := normalized(w.entry.native); now != stated && now != w.status() {
		return now
	}
	if now := normalized(w.projectStatus()); now == "paused" && stated == "active" && w.status() != "paused" {
		return now // the program pauses a project in the table projects only
	}
	return ""
}

// projectStatus returns the status in the project's own row of the table projects.
func (w *rowWriter) projectStatus() string {
	if t := w.source.Table(projectsTable); t != nil {
		for _, row := range t.Rows {
			if text(row, "id") == w.project {
				return text(row, "status")
			}
		}
	}
	return ""
}

// paused returns where someone else has paused the project since pawl last wrote its row, "" if nobody has.
func (s scope) paused(files format.Files, v format.Export) string {
	w := newRowWriter(files, v, s.projectOf(v.State))
	if w.source == nil || w.entry == nil || w.foreignStatus() != "paused" {
		return ""
	}
	return w.entry.where()
}

// positionDigest identifies the position in a row.
func positionDigest(value func(column string) string) string {
	var all []string
	for _, column := range []string{"active_task_id", "current_task_id", "active_agent_id", "current_agent_id", "last_action"} {
		all = append(all, value(column))
	}
	sum := sha256.Sum256([]byte(strings.Join(all, "\x00")))
	return hex.EncodeToString(sum[:8])
}

// foreignPosition returns the task, agent and action of the row if someone else has set them since pawl last wrote it; nil if nobody
// has.
func (w *rowWriter) foreignPosition() map[string]string {
	if w.entry == nil {
		return nil
	}
	stated := w.entry.ofTask("pawl", "position")
	if stated == "" || stated == positionDigest(func(column string) string { return text(w.entry.Row, column) }) {
		return nil
	}
	return map[string]string{"task": w.entry.task, "agent": w.entry.agent, "action": clip(w.entry.action, 500)}
}

// isAnswer reports whether a status answers a gate.
func isAnswer(status string) bool {
	return slices.Contains([]string{"approved", "denied", "rejected"}, normalized(status))
}

// openings returns how often a gate was opened: after a rejection it may be opened again, with the same id.
func (w *rowWriter) openings(id pawl.GateID) int {
	n := 0
	for i := range w.State.Gates {
		if w.State.Gates[i].ID == id {
			n++
		}
	}
	return n
}

// statedAnswer returns the status of a gate that pawl last stated in a row. A row of another program is pending until someone answers
// it. An answer to an earlier opening of the gate was used then, and counts as pawl's.
func (w *rowWriter) statedAnswer(row *dump.Row, own bool, g *pawl.GateState) string {
	now, context := normalized(text(row, "status")), object(text(row, "context"))
	said, round := context.Get("status"), context.Get("opening")
	switch at, _, ok := format.ParseTime(text(row, "resolved_at")); {
	case own && said.Is(jsonedit.String) && round.Is(jsonedit.String):
		if round.Text() == strconv.Itoa(w.openings(g.ID)) {
			return normalized(said.Text())
		}
		return now
	case own && slices.Contains([]string{"person", "pawl"}, text(row, "resolved_by")):
		return now
	case w.openings(g.ID) > 1 && !(ok && at.After(g.Opened)):
		return now
	}
	return "pending"
}

// foreignAnswer returns the row of a gate if someone else has answered it there, and where it is; nil if nobody has.
func (w *rowWriter) foreignAnswer(g *pawl.GateState) (row *dump.Row, where string) {
	t := w.gatesTable()
	if t == nil {
		return nil, ""
	}
	row, own := w.rowOf(t, w.newID("gate", string(g.ID)), g.Ask)
	if row == nil || !isAnswer(text(row, "status")) || normalized(text(row, "status")) == w.statedAnswer(row, own, g) {
		return nil, ""
	}
	where = w.source.at(row.Line) + ": " + gatesTable
	if by := text(row, "resolved_by"); by != "" {
		where += ", by " + clip(by, 100)
	}
	return row, where
}

// answers returns the answers to open gates that someone else wrote into the table of gates.
func (s scope) answers(files format.Files, v format.Export) []pawl.GateAnswered {
	w := newRowWriter(files, v, s.projectOf(v.State))
	if w.source == nil {
		return nil
	}
	var all []pawl.GateAnswered
	for _, g := range w.State.OpenGates() {
		row, where := w.foreignAnswer(g)
		if row == nil {
			continue
		}
		reply := pawl.GateAnswered{Gate: g.ID, Answer: pawl.Rejected, Why: clip(text(row, "feedback"), 1000), Where: where}
		if normalized(text(row, "status")) == "approved" {
			reply.Answer = pawl.Approved
			if g.Type == pawl.DecisionFor {
				reply.Answer, reply.Option, reply.Why = pawl.Chosen, reply.Why, ""
			}
		}
		all = append(all, reply)
	}
	return all
}

// conflicts returns what others have written into the tables that contradicts the run. pawl leaves it, or keeps a copy.
func (s scope) conflicts(files format.Files, v format.Export) (all []string, moved bool) {
	w := newRowWriter(files, v, s.projectOf(v.State))
	if w.source == nil {
		return nil, false
	}
	if now := w.foreignStatus(); now != "" && (now != "paused" || w.State.Ended()) {
		all = append(all, fmt.Sprintf("%s: someone else has set project %s to %s, and the run is %s; pawl does not overwrite it", w.entry.where(), w.project, clip(now, 40), w.status()))
	}
	if theirs := w.foreignPosition(); theirs != nil {
		moved = true
		all = append(all, fmt.Sprintf("%s: someone else has set task %q, agent %q, last action %q; a running engine replaces them, and keeps them in metadata as pawl.replaced",
			w.entry.where(), theirs["task"], theirs["agent"], theirs["action"]))
	}
	for i := range w.State.Gates {
		g := w.State.Gate(w.State.Gates[i].ID)
		row, where := w.foreignAnswer(g)
		if ours := w.answer(g)["status"]; row != nil && !g.Open() && normalized(text(row, "status")) != ours {
			all = append(all, fmt.Sprintf("%s: gate %s is %s there and %s here; pawl does not overwrite it", where, g.ID, text(row, "status"), ours))
		}
	}
	return all, moved
}
