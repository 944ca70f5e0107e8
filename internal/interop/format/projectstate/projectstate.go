// Package projectstate reads and writes the table project_state of Decision 76, as the decision's text has it and as its
// program made it, with the related tables: snapshots, transactions, gates, projects. It knows SQL text only; of a SQLite
// database it gets a dump, and what it changes in the dump is applied to the database.
//
// A project's state is a single row, so little of it is trusted: a task without an agent needs a decision by a person and is never
// handed out again, of several rows of a project the newest one is used, and times in the future are ignored. It writes values in
// place, only where they differ, and never changes an existing schema.
package projectstate

import (
	"slices"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/interop/tables/dump"
)

// System is the name of the system.
const System = "projectstate"

// Format reads and writes the only project in the tables or, if there are several, the one with the newest activity.
func Format() format.Format { return scope{}.format() }

// scope is the project that is read and written.
type scope struct {
	project string // its id, its name or a prefix of its id; "" for any
}

func (s scope) format() format.Format {
	return format.Format{
		Name: System, Patterns: patterns(), Read: s.read, Write: s.write, Verify: s.verify,
		Projects: projects, Select: func(project string) format.Format { return scope{project: project}.format() },
		Tables: s.tables, Refuses: s.refuses, UnknownTasks: s.unknownTasks, Answers: s.answers, Paused: s.paused, Conflicts: s.conflicts,
		CheckCriterion: s.checkCriterion, Criteria: s.criteriaOf, Asks: s.asks,
	}
}

// patterns returns the patterns of dumps and databases that may have the table.
func patterns() []string {
	return []string{
		"*.sql", "*.dump", "*.sqlite", "*.sqlite3", "*.db", "**/*project_state*.sql", "**/*project_state*.dump",
		"**/*project_state*.sqlite", "**/*project_state*.sqlite3", "**/*project_state*.db",
	}
}

// The tables.
const (
	statesTable    = "project_state"
	snapshotsTable = "project_state_snapshots"
	historyTable   = "project_state_transactions"
	gatesTable     = "gates"
	projectsTable  = "projects"
)

// tables are the tables that are read.
var tables = []string{statesTable, snapshotsTable, historyTable, gatesTable, projectsTable}

// recentRows is the number of newest history rows that are read before a row is appended.
const recentRows = 50

// tables returns what is read from a database. To write a run that is the rows of its project, and the newest of its history.
func (s scope) tables(run *pawl.State) []dump.Part {
	if run == nil {
		return []dump.Part{{Table: projectsTable}, {Table: statesTable}, {Table: snapshotsTable}, {Table: historyTable}, {Table: gatesTable}}
	}
	id := s.projectOf(run)
	return []dump.Part{
		{Table: projectsTable, Column: "id", Value: id}, {Table: statesTable, Column: "project_id", Value: id, Numbered: true},
		{Table: snapshotsTable, Column: "project_id", Value: id, Newest: recentRows},
		{Table: historyTable, Column: "project_id", Value: id, Newest: recentRows},
		{Table: gatesTable, Column: "project_id", Value: id},
	}
}

// projectOf returns the id of a run's project in the table.
func (s scope) projectOf(run *pawl.State) string {
	switch {
	case s.project != "":
		return s.project
	case run.Import.System == System && run.Import.ID != "":
		return run.Import.ID
	}
	return run.Project
}

// projects returns the ids of the projects, in the order of the files.
func projects(files format.Files) []string {
	var ids []string
	for _, e := range newTablesReader(files, format.Env{}).entries {
		if !slices.Contains(ids, e.project) {
			ids = append(ids, e.project)
		}
	}
	return ids
}

// read reads one project; the others are findings.
func (s scope) read(files format.Files, env format.Env) (format.Project, []pawl.Finding) {
	r := newTablesReader(files, env)
	e := r.pick(s.project)
	if e == nil {
		return format.Project{System: System}, r.Findings()
	}
	return r.buildProject(e), r.Findings()
}
