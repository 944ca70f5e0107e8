package projectstate

import (
	"cmp"
	"slices"
	"time"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/interop/tables/dump"
	"pawl/internal/textedit/jsonedit"
)

// transaction is a change of a project's row, with its previous state.
type transaction struct {
	*dump.Row
	id, change string
	at         time.Time
	payload    *jsonedit.Value
	before     *jsonedit.Value
}

// history is the recorded changes of a project.
type history struct {
	transactions []transaction // oldest first
	finished     map[string]time.Time
}

func (r *tablesReader) history(e *entry) history {
	h := history{finished: map[string]time.Time{}}
	for _, s := range r.sourcesOf(e) {
		for _, row := range sameProject(s, historyTable, e.project) {
			t := transaction{Row: row, id: text(row, "id"), change: text(row, "change_type")}
			t.at, _, _ = format.ParseTime(text(row, "occurred_at")) // a row without a time sorts first
			t.payload, t.before = object(text(row, "payload")), object(text(row, "previous_state"))
			h.transactions = append(h.transactions, t)
		}
	}
	slices.SortStableFunc(h.transactions, func(a, b transaction) int { return a.at.Compare(b.at) })
	known := []string{}
	for _, t := range h.transactions {
		if t.change != "record_task_completion" {
			continue
		}
		now := names(t.payload.Get("completed_tasks"))
		for _, id := range now {
			if !slices.Contains(known, id) {
				h.finished[id] = t.at
			}
		}
		known = now
	}
	return h
}

// object parses a text as a JSON object, nil if it is not one.
func object(written string) *jsonedit.Value {
	v, err := jsonedit.Read([]byte(written))
	if err != nil || !v.Is(jsonedit.Object) {
		return nil
	}
	return v
}

// stateAt returns the state of the row at a time: the one before the next change, nil for the current one. The program
// instead takes the state before the previous change, which is one too old.
func (h history) stateAt(at time.Time) *jsonedit.Value {
	for _, t := range h.transactions {
		if t.at.After(at) {
			return t.before
		}
	}
	return nil
}

// saved lists the snapshots of the row.
func (r *tablesReader) saved(out *format.Project, e *entry) {
	for _, s := range r.sourcesOf(e) {
		for _, row := range sameProject(s, snapshotsTable, e.project) {
			state := object(text(row, "state"))
			c := format.Checkpoint{
				ID: text(row, "id"), Kind: pawl.CheckpointManual, Native: text(row, "taken_by"), Reason: clip(text(row, "notes"), 200),
				Time: r.time(e, row, "snapshot_at"), Valid: state != nil, Where: e.source.Path,
			}
			if task := nameIn(state, "active_task_id", "current_task_id"); task != "" {
				c.Step = pawl.StepIDOf(task)
			}
			out.Checkpoints = append(out.Checkpoints, c)
		}
	}
	slices.SortStableFunc(out.Checkpoints, func(a, b format.Checkpoint) int { return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.ID, b.ID)) })
}

func nameIn(state *jsonedit.Value, keys ...string) string {
	for _, key := range keys {
		if v := state.Get(key); v.Is(jsonedit.String) {
			return v.Text()
		}
	}
	return ""
}
