package projectstate

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/interop/tables/dump"
)

// snapshotEvery is the interval of the program's snapshots: "hourly".
const snapshotEvery = time.Hour

// snapshots adds the current row to an existing snapshot table: for each checkpoint that a person asked for, and each hour.
func (w *rowWriter) snapshots() {
	t := w.source.Table(snapshotsTable)
	if t == nil || slices.ContainsFunc([]string{"id", "project_id", "state"}, func(c string) bool { return !t.Takes(c) }) {
		return
	}
	if c := w.State.LastSave; c != nil && c.Kind == pawl.CheckpointManual {
		w.snapshot(t, string(c.ID), why("checkpoint "+string(c.ID), c.Why))
	}
	last := w.State.Created
	for _, row := range sameProject(w.source, snapshotsTable, w.project) {
		if at, _, _ := format.ParseTime(text(row, "snapshot_at")); at.After(last) {
			last = at
		}
	}
	if w.State.Updated.Sub(last) >= snapshotEvery {
		w.snapshot(t, last.String(), "hourly")
	}
}

// snapshot adds a snapshot, once.
func (w *rowWriter) snapshot(t *dump.Table, which, notes string) {
	id := w.newID("snapshot", which)
	if slices.ContainsFunc(t.Rows, func(row *dump.Row) bool { return strings.ReplaceAll(text(row, "id"), "-", "") == id }) {
		return
	}
	w.source.Append(t, pairs(t, "id", id, "project_id", w.project, "snapshot_at", w.now(), "state", w.entry.json(), "taken_by", "pawl", "notes", clip(notes, 1000)))
}

// projects updates the status and the last activity in the project's own row, if it exists and has them. An archived project
// stays archived, and a failed one has no status there.
func (w *rowWriter) projects() {
	t := w.source.Table(projectsTable)
	if t == nil {
		return
	}
	there := false
	for _, row := range t.Rows {
		if text(row, "id") == w.project {
			there = true
			w.projectRow(row)
		}
	}
	if !there && t.Takes("goal") && t.Takes("path") && t.Takes("host") { // pawl's own table, which the state rows refer to
		w.source.Append(t, pairs(t, "id", w.project, "name", cmp.Or(w.State.Name, w.project), "goal", w.Plan.Goal, "path", w.Root, "host", w.Host))
	}
}

func (w *rowWriter) projectRow(row *dump.Row) {
	follows := []string{"active", "paused", "completed"}
	if now := w.status(); w.foreignStatus() == "" && slices.Contains(follows, now) && slices.Contains(follows, normalized(text(row, "status"))) {
		w.source.Set(row, "status", dump.TextOf(now))
	}
	for _, column := range []string{"last_activity", "last_activity_at", "last_active_at", "last_updated", "updated_at"} {
		v, there := row.Get(column)
		if at, _, ok := format.ParseTime(v.Text); there && (v.Kind == dump.Null || v.Kind == dump.Text && ok && w.State.Updated.After(at)) {
			w.source.Set(row, column, dump.TextOf(likeTime(w.State.Updated.Truncate(time.Microsecond), w.model(v.Text))))
		}
	}
}
