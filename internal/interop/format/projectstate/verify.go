package projectstate

import (
	"slices"
	"time"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/interop/tables/dump"
	"pawl/internal/textedit/jsonedit"
)

// ancientAge is the age of the last activity from which a person must confirm that an active project is resumed.
const ancientAge = 7 * 24 * time.Hour

// verify reports all faults in the tables of all projects: missing keys, contradictions in and between rows, times, JSON,
// roll-backs to a wrong state. It also reports what is sound.
func (sc scope) verify(files format.Files, env format.Env) []pawl.Finding {
	r := newTablesReader(files, env)
	if len(r.sources) == 0 {
		return []pawl.Finding{{Level: pawl.Bad, What: "no table project_state found here"}}
	}
	for _, s := range r.sources {
		if t := s.Table(statesTable); t != nil {
			r.verifyTable(s, t)
		}
	}
	for _, e := range r.entries {
		if sc.project == "" || e.project == sc.project {
			r.verifyEntry(e)
		}
	}
	return r.Findings()
}

func (r *tablesReader) verifyTable(s *source, t *dump.Table) {
	where := s.at(t.Line)
	if !t.Unique("project_id") && t.Made != "" {
		r.Find(pawl.Bad, where, "CREATE UNIQUE INDEX project_state_once ON project_state (project_id)",
			"project_id is not unique: every update by ON CONFLICT (project_id) fails, and a project with two rows is recovered twice")
	}
	schema := "the decision's text"
	if slices.Contains(t.Columns, "active_task_id") {
		schema = "the program"
	}
	r.Find(pawl.OK, where, "", "the table has the schema of %s; rows: %d", schema, len(t.Rows))
	r.verifyOrphans(s)
}

// verifyOrphans reports rows of a project without a state.
func (r *tablesReader) verifyOrphans(s *source) {
	for _, name := range []string{snapshotsTable, historyTable} {
		t := s.Table(name)
		if t == nil {
			continue
		}
		for _, row := range t.Rows {
			project := text(row, "project_id")
			if !slices.ContainsFunc(r.entries, func(e *entry) bool { return e.project == project }) {
				r.Bad(s.at(row.Line), "%s: project %q has no state", name, clip(project, 60))
			}
			for _, column := range []string{"state", "payload", "previous_state"} {
				if said := text(row, column); said != "" && object(said) == nil {
					r.Bad(s.at(row.Line), "%s: %s is not a JSON object", name, column)
				}
			}
		}
	}
}

func (r *tablesReader) verifyEntry(e *entry) {
	before := len(r.Findings())
	status := r.status(e)
	working := status == pawl.StatusActive || status == pawl.StatusInterrupted
	switch {
	case e.updated.IsZero():
		r.Warn(e.where(), "project %s has no time of any activity", e.project)
	case working && r.env.Now.Sub(e.updated) > ancientAge:
		r.Warn(e.where(), "project %s is %s, with no activity for %d days", e.project, e.native, int(r.env.Now.Sub(e.updated).Hours()/24))
	}
	if working && r.hasNoAgent(e) {
		r.Bad(e.where(), "task %s has no agent, so the program would assign it to nobody, although its last action is %q", e.task, clip(e.action, 100))
	}
	if e.task != "" && e.finished() {
		r.Bad(e.where(), "task %s is current and completed: it would run again", e.task)
	}
	if status == pawl.StatusCompleted && (e.task != "" || len(e.pending) > 0) {
		r.Bad(e.where(), "project %s is completed but has unfinished tasks", e.project)
	}
	for _, id := range e.pending {
		if slices.Contains(e.completed, id) {
			r.Bad(e.where(), "task %s is completed and pending", clip(id, 60))
		}
	}
	if verb, file := fileIn(e.action); file != "" && working && r.env.Exists != nil && !r.env.Exists(file) {
		r.Bad(e.where(), "the last action %s %s, which is missing", verb, file)
	}
	r.verifyRollbacks(e)
	if !slices.ContainsFunc(r.Findings()[before:], func(f pawl.Finding) bool { return f.Level == pawl.Bad }) {
		r.Find(pawl.OK, e.where(), "", "project %s is %s, with %d tasks completed and %d pending", e.project, e.native, len(e.completed), len(e.pending))
	}
}

// verifyRollbacks reports roll-backs to a time that restored a wrong state: the program takes one that is too old.
func (r *tablesReader) verifyRollbacks(e *entry) {
	h := r.history(e)
	for i, t := range h.transactions {
		v := t.payload.Get("restore_at")
		if t.change != "rollback_state" || !v.Is(jsonedit.String) {
			continue
		}
		at, _, ok := format.ParseTime(v.Text())
		if !ok {
			continue
		}
		was := history{transactions: h.transactions[:i+1]}.stateAt(at)
		if i+1 < len(h.transactions) {
			if got := h.transactions[i+1].before; was != nil && got != nil && !sameState(was, got) {
				r.Bad(e.where(), "the rollback %s restored a state other than the one at %s", t.id, v.Text())
			}
		} else if was != nil && !slices.Equal(names(was.Get("completed_tasks")), e.completed) {
			r.Bad(e.where(), "the rollback %s restored a state other than the one at %s", t.id, v.Text())
		}
	}
}

// sameState compares two states of a row, except for the times of writing.
func sameState(a, b *jsonedit.Value) bool {
	for _, m := range a.Members {
		if m.Key != "last_updated" && m.Key != "updated_at" && !m.Value.Same(b.Get(m.Key)) {
			return false
		}
	}
	return true
}
