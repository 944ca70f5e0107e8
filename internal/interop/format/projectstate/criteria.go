package projectstate

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/interop/format"
)

// The decision has no record of a task's completion but the row, which the orchestrator writes. So a task is done if its agent
// ended well and the snapshots around it show that it changed files, or if someone other than pawl lists it as completed. Else
// a person says so.

// tookEffect is the criterion that each task has.
const tookEffect = "a changed file, or a row that lists it as completed"

// checkCriterion reports whether a task has had an effect, or is listed as completed.
func (s scope) checkCriterion(files format.Files, env format.Env, id pawl.StepID, _ string) (bool, string) {
	r := newTablesReader(files, env)
	project := s.project
	if project == "" && len(env.IDs) > 0 {
		project = env.IDs[0]
	}
	if e := r.pick(project); e != nil && env.Redone.IsZero() && slices.ContainsFunc(e.completed, func(task string) bool { return pawl.StepIDOf(task) == id }) {
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

// isTableFile reports whether a file holds the tables, or belongs to a database that does.
func (r *tablesReader) isTableFile(name string) bool {
	return slices.ContainsFunc(r.sources, func(s *source) bool {
		base := path.Base(s.Path) // of a single file only the name is known
		return slices.Contains([]string{base, base + "-wal", base + "-shm", base + "-journal"}, path.Base(name))
	})
}
