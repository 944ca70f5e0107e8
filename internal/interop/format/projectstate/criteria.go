package projectstate

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/interop/tables/dump"
	"pawl/internal/textedit/jsonedit"
)

// The decision has no record of a task's completion but the row, which the orchestrator writes. So a task is done if its agent
// ended well and the snapshots around it show that it changed files, or if someone other than pawl lists it as completed. Else
// a person says so.

// tookEffect is the criterion that each task has.
const tookEffect = "a changed file, or a row that lists it as completed"

// checkCriterion reports whether a task has had an effect, or is listed as completed.
func (s scope) checkCriterion(files format.Files, env format.Env, id pawl.StepID, _ string) (bool, string) {
	r := newTablesReader(files, env)
	e := r.pick(s.projectIn(env))
	if asked := r.askedGate(e, id); asked != nil {
		return false, fmt.Sprintf("%s: a gate is pending: %s", gatesTable, questionOf(asked))
	}
	if e != nil && env.Redone.IsZero() && slices.ContainsFunc(e.completed, func(task string) bool { return pawl.StepIDOf(task) == id }) {
		return true, e.where() + " lists it as completed"
	}
	const unlisted = "no row lists it as completed"
	if env.Made == nil {
		return false, unlisted
	}
	made, unknown := env.Made()
	made = slices.DeleteFunc(made, r.isTableFile)
	switch {
	case unknown != "":
		return false, unlisted + ", and which files it changed is unknown: " + unknown
	case len(made) == 0:
		return false, unlisted + ", and it has changed no file"
	}
	return true, fmt.Sprintf("its agent ended successfully and changed %s; nothing else proves it", strings.Join(made[:min(len(made), 5)], ", "))
}

// projectIn returns the project whose rows a step's checks read; "" for any.
func (s scope) projectIn(env format.Env) string {
	if s.project == "" && len(env.IDs) > 0 {
		return env.IDs[0]
	}
	return s.project
}

// asks returns the question of a gate that the work on a step added to the table of gates.
func (s scope) asks(files format.Files, env format.Env, id pawl.StepID) *pawl.GateAction {
	r := newTablesReader(files, env)
	asked := r.askedGate(r.pick(s.projectIn(env)), id)
	if asked == nil {
		return nil
	}
	return &pawl.GateAction{Type: pawl.HumanVerify, Ask: questionOf(asked)}
}

// askedGate returns a pending gate that another program has added to the table since the attempt at a step began; nil if there is none,
// or no attempt asks. A gate that names another task in its context does not count.
func (r *tablesReader) askedGate(e *entry, id pawl.StepID) *dump.Row {
	if e == nil || r.env.Asked.IsZero() {
		return nil
	}
	for _, s := range r.sourcesOf(e) {
		for _, row := range sameProject(s, gatesTable, e.project) {
			context := object(text(row, "context"))
			task := context.Get("task_id")
			switch at := r.time(e, row, "created_at"); {
			case normalized(text(row, "status")) != "pending", context.Get("gate") != nil:
			case task.Is(jsonedit.String) && pawl.StepIDOf(task.Text()) != id:
			case at.Before(r.env.Asked.Truncate(time.Second)), r.answered(id, questionOf(row), at): // SQLite's times are whole seconds
			default:
				return row
			}
		}
	}
	return nil
}

// answered reports whether the run has an answer to a question of a step that is not older than the question.
func (r *tablesReader) answered(id pawl.StepID, question string, asked time.Time) bool {
	if r.env.Run == nil || len(r.env.IDs) == 0 {
		return false
	}
	state, _ := r.env.Run(r.env.IDs[len(r.env.IDs)-1])
	return state != nil && slices.ContainsFunc(state.Gates, func(g pawl.GateState) bool {
		return g.Step == id && g.Ask == question && g.Closed.After(asked)
	})
}

// questionOf returns what a gate in the table asks.
func questionOf(row *dump.Row) string {
	return cmp.Or(clip(text(row, "reason"), 1000), "a gate of type "+text(row, "gate_type"))
}

// criteriaOf returns the criterion of a task.
func (s scope) criteriaOf(files format.Files, env format.Env, id pawl.StepID) []string {
	r := newTablesReader(files, env)
	if e := r.pick(s.projectIn(env)); e != nil {
		if steps, _ := r.steps(e); slices.ContainsFunc(steps, func(step format.Step) bool { return step.ID == id }) {
			return []string{tookEffect}
		}
	}
	return nil
}

// isTableFile reports whether a file holds the tables, or belongs to a database that does.
func (r *tablesReader) isTableFile(name string) bool {
	return slices.ContainsFunc(r.sources, func(s *source) bool {
		base := path.Base(s.Path) // of a single file only the name is known
		return slices.Contains([]string{base, base + "-wal", base + "-shm", base + "-journal"}, path.Base(name))
	})
}
