package projectstate

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/interop/tables/dump"
)

// write updates the run's row: the current task and its agent, the last action, the completed and pending tasks. If the
// tables exist, it also adds the change to the history, the row to the snapshots, and open questions to the gates. All of it
// is in one file, which changes atomically. Without a table it writes a new dump.
func (s scope) write(files format.Files, v format.Export) []format.File {
	if v.State == nil {
		return nil
	}
	w := newRowWriter(files, v, s.projectOf(v.State))
	if len(w.refuses()) > 0 {
		return nil
	}
	if w.state() {
		w.snapshots()
		w.projects()
	}
	w.gates()
	data := w.source.Bytes()
	if string(data) == string(w.source.Data) {
		return nil
	}
	return []format.File{{Path: w.source.Path, Data: data, Was: w.source.Was, Parts: w.source.Parts}}
}

// newDump is the name of a new dump.
const newDump = "project_state.sql"

// rowWriter writes a run's row, and its rows in the other tables.
type rowWriter struct {
	format.Export
	source  *source
	entry   *entry    // the existing row, nil if there is none
	sources []*source // all files
	project string
	taken   string // if source is nil: the path of the new dump, which is another file
}

func newRowWriter(files format.Files, v format.Export, project string) *rowWriter {
	if v.Plan == nil {
		v.Plan = &pawl.Plan{}
	}
	w := &rowWriter{Export: v, project: project}
	r := newTablesReader(files, format.Env{Now: v.Now})
	w.sources = r.sources
	for _, e := range r.entries {
		if e.project == w.project {
			w.entry, w.source = e, e.source
		}
	}
	w.choose(r, files)
	return w
}

// choose determines the file for a new row: the database with the table, the dump with it, the database that the user named, or a
// new dump.
func (w *rowWriter) choose(r *tablesReader, files format.Files) {
	if w.source != nil {
		return
	}
	for _, s := range r.sources {
		t := s.Table(statesTable)
		if t == nil || !t.Takes("project_id") || !t.Takes("status") || s.Was == nil && len(t.Rows) == 0 && !s.Named {
			continue // a file that only creates the table is a migration and not a dump, unless the user named it
		}
		if w.source == nil || s.Was != nil && w.source.Was == nil {
			w.source = s
		}
	}
	if w.source != nil {
		return
	}
	made := format.File{Path: newDump}
	for _, f := range files {
		if len(f.Data) == 0 || f.Named && f.Was != nil {
			made = f
		} else if f.Path == made.Path || f.Named {
			w.taken = f.Path // it is another file
			return
		}
	}
	w.source = &source{File: made, Dump: dump.Read(append(slices.Clip(made.Data), schemaOf(made)...))}
}

// refuses reports files that are truncated, that change their rows later on, or that have no place for the run's row. pawl
// does not write into a file whose content after loading is uncertain, and adds no new row either, since the old one may be
// in the missing part.
func (s scope) refuses(files format.Files, run *pawl.State) []pawl.Finding {
	return newRowWriter(files, format.Export{State: run, Now: run.Updated}, s.projectOf(run)).refuses()
}

func (w *rowWriter) refuses() []pawl.Finding {
	if w.source == nil {
		return []pawl.Finding{{Level: pawl.Bad, Where: w.taken, What: "not a dump with rows of " + statesTable + ", so it is not overwritten",
			Hint: "restore a copy of it, or move it away"}}
	}
	look := []*source{w.source}
	if w.entry == nil {
		look = append(look, slices.DeleteFunc(slices.Clone(w.sources), func(s *source) bool { return s == w.source })...)
	}
	var found []pawl.Finding
	for _, s := range look {
		found = append(found, s.doubtful()...)
	}
	if gone := w.entry == nil && w.State.Import.System == System && w.State.Import.ID == w.project; gone && len(found) == 0 && len(w.sources) > 0 {
		found = append(found, pawl.Finding{Level: pawl.Bad, Where: w.sources[0].Path, Hint: "restore a complete copy of it",
			What: "project " + w.project + ", which the run was imported from, is no longer in this file"})
	}
	return found
}

// row returns the values of the run's row, by the columns of both schemas.
func (w *rowWriter) row() map[string]dump.Value {
	at := w.position()
	values := map[string]dump.Value{
		"project_id": dump.TextOf(w.project), "status": dump.TextOf(w.status()), "last_action": orNull(at.action, 2000),
		"current_phase": dump.TextOf(clip(cmp.Or(at.phase, "initialization"), 90)),
	}
	for _, names := range [][]string{{"active_task_id", "current_task_id"}, {"active_agent_id", "current_agent_id"}} {
		said := at.task
		if names[0] == "active_agent_id" {
			said = at.agent
		}
		for _, name := range names {
			values[name] = orNull(said, 100)
		}
	}
	return values
}

func orNull(said string, most int) dump.Value {
	if said == "" {
		return dump.Value{}
	}
	return dump.TextOf(clip(said, most))
}

// status returns the run's status in the table's words. A run that waits for a person or was interrupted is resumable; while
// the question whether to start is open, the status stays.
func (w *rowWriter) status() string {
	if w.entry != nil && slices.ContainsFunc(w.State.OpenGates(), func(g *pawl.GateState) bool { return g.Purpose == pawl.ForRebuilt }) {
		return w.entry.native
	}
	switch w.Status {
	case pawl.StatusPaused, pawl.StatusStopped:
		return "paused"
	case pawl.StatusCompleted:
		if len(w.unknownTasks()) > 0 {
			return "active"
		}
		return "completed"
	case pawl.StatusFailed:
		return "failed"
	}
	return "active"
}

// unknownTasks returns the pending tasks of the project that the run has no step for.
func (s scope) unknownTasks(files format.Files, v format.Export) ([]string, string) {
	w := newRowWriter(files, v, s.projectOf(v.State))
	if w.source == nil {
		return nil, ""
	}
	return w.unknownTasks(), w.source.Path
}

// unknownTasks returns the pending tasks, and the current one, that the run has no step for.
func (w *rowWriter) unknownTasks() []string {
	if w.entry == nil {
		return nil
	}
	open := slices.Clone(w.entry.pending)
	if w.entry.task != "" && !w.entry.finished() && !slices.Contains(open, w.entry.task) {
		open = append(open, w.entry.task)
	}
	return slices.DeleteFunc(open, func(name string) bool {
		id := pawl.StepIDOf(name)
		return w.State.Steps[id] != nil || w.Plan.Step(id) != nil || slices.Contains(w.entry.completed, name)
	})
}

// state writes the row. It returns false if the row stays as it was imported, because the run has no event yet. A status that
// someone else set stays.
func (w *rowWriter) state() (kept bool) {
	t := w.source.Table(statesTable)
	before := w.entry.json()
	values := w.row()
	lists := w.lists()
	meta := w.metadata(lists)
	for name, list := range lists {
		values[name] = dump.TextOf(list)
	}
	if w.entry == nil {
		values["metadata"] = w.signed(meta, nil, func(column string) string {
			if !t.Takes(column) {
				return ""
			}
			return values[column].Text
		})
		w.add(t, values)
		return true
	}
	if values["last_action"].Kind == dump.Null {
		delete(values, "last_action") // there is none yet
	}
	if w.foreignStatus() != "" {
		delete(values, "status")
	}
	values["metadata"] = dump.TextOf(meta)
	if !w.isSigned() && len(w.differing(w.entry.Row, values)) == 0 {
		return false
	}
	onlySignature := meta == text(w.entry.Row, "metadata")
	theirs := w.foreignPosition()
	delete(values, "metadata")
	changed := w.change(w.entry.Row, values)
	signed := w.signed(meta, theirs, func(column string) string { return text(w.entry.Row, column) })
	if wrote := w.change(w.entry.Row, map[string]dump.Value{"metadata": signed}); !onlySignature {
		changed = append(changed, wrote...)
	}
	w.stamp()
	progress := w.Trigger == format.Beat && slices.Equal(changed, []string{"last_action"})
	if len(changed) > 0 && !progress {
		w.addTransaction(before, changed)
	}
	return true
}

// change sets the columns that differ, and returns their names.
func (w *rowWriter) change(row *dump.Row, values map[string]dump.Value) []string {
	return slices.DeleteFunc(w.differing(row, values), func(column string) bool { return !w.source.Set(row, column, values[column]) })
}

// differing returns the columns of a row whose values differ.
func (w *rowWriter) differing(row *dump.Row, values map[string]dump.Value) []string {
	var differ []string
	for _, column := range w.source.Table(statesTable).Columns {
		want, ours := values[column]
		if have, there := row.Get(column); ours && (have != want || !there) {
			differ = append(differ, column)
		}
	}
	return differ
}

// stamp sets the time of the last action. A later existing time stays.
func (w *rowWriter) stamp() {
	for _, column := range []string{"last_updated", "updated_at"} {
		if v, there := w.entry.Get(column); there && w.State.Updated.After(w.entry.updated) && v.Kind != dump.Number {
			w.source.Set(w.entry.Row, column, dump.TextOf(likeTime(w.State.Updated.Truncate(time.Microsecond), w.model(v.Text))))
		}
	}
}

// model returns a time to imitate: the existing one, or any other of the table, or the default of this kind of file.
func (w *rowWriter) model(there string) string {
	if _, _, ok := format.ParseTime(there); ok {
		return there
	}
	for _, row := range w.source.Table(statesTable).Rows {
		if at := text(row, "last_updated", "updated_at"); at != "" {
			return at
		}
	}
	if w.source.Was != nil {
		return "2006-01-02 15:04:05"
	}
	return "2006-01-02 15:04:05+00:00"
}

// add adds the row.
func (w *rowWriter) add(t *dump.Table, values map[string]dump.Value) {
	values["created_at"] = dump.TextOf(likeTime(w.State.Created, w.model("")))
	for _, column := range []string{"last_updated", "updated_at"} {
		values[column] = dump.TextOf(likeTime(w.State.Updated, w.model("")))
	}
	if t.Gives("id") {
		values["id"] = w.nextID(t)
	}
	var row []dump.Pair
	w.entry = &entry{Row: &dump.Row{}}
	for _, column := range t.Columns {
		if v, ok := values[column]; ok {
			row = append(row, dump.Pair{Column: column, Value: v})
			w.entry.Cells = append(w.entry.Cells, dump.Cell{Column: column, Value: v})
		}
	}
	w.source.Append(t, row)
}

// nextID returns the id of a new row, and advances the sequence. It returns none if the database assigns ids.
func (w *rowWriter) nextID(t *dump.Table) dump.Value {
	last := 0
	for _, row := range t.Rows {
		if id, err := strconv.Atoi(text(row, "id")); err == nil {
			last = max(last, id)
		} else {
			last++
		}
	}
	for _, c := range w.source.Counters {
		if at, err := strconv.Atoi(c.At); err == nil && c.Name == statesTable+"_id_seq" {
			last = max(last, at)
			w.source.Count(c, strconv.Itoa(last+1))
		}
	}
	return dump.Value{Kind: dump.Number, Text: strconv.Itoa(last + 1)}
}
