// Package projectstate reads and writes the table project_state of Decision 76, as the decision's text has it and as its
// program made it, with the tables beside it: snapshots, transactions, gates, projects. It knows SQL text only; of a SQLite
// database it is given a dump, and what it changes there is carried out in the database.
//
// One row says where a project stands, so it is believed little: a task that nobody is named for is put before a person and
// never handed out again, of several rows of a project the newest one counts, times that have not come count for nothing.
// It writes a value only where it differs, in place, and never a schema that is there.
package projectstate

import (
	"slices"
	"time"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/interop/tables/dump"
)

// System is the name of the system.
const System = "projectstate"

// Codec reads and writes the project that the folder is most likely about: the only one, or the one at work last.
var Codec format.Format = codec{}

type codec struct {
	project string // its id or name, or how its id begins; "" for any
}

var (
	_ format.Witness = codec{}
	_ format.Tabular = codec{}
	_ format.Chooser = codec{}
	_ format.Refuser = codec{}

	_ format.Surveyor = codec{}
)

// System returns its name.
func (codec) System() string { return System }

// Wants returns the patterns of the dumps and databases that may hold the table.
func (codec) Wants() []string {
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

// tables are all of them: of other tables nothing is taken in.
var tables = []string{statesTable, snapshotsTable, historyTable, gatesTable, projectsTable}

// lately is how much of the history is looked at to write it on.
const lately = 50

// Tables returns what is read of a database. To write a run's row that is where projects stand, what is beside it of this
// project, and of the history the newest.
func (c codec) Tables(run *pawl.State) []dump.Part {
	if run == nil {
		return []dump.Part{{Table: projectsTable}, {Table: statesTable}, {Table: snapshotsTable}, {Table: historyTable}, {Table: gatesTable}}
	}
	id := c.projectOf(run)
	return []dump.Part{
		{Table: projectsTable, Column: "id", Is: id}, {Table: statesTable},
		{Table: snapshotsTable, Column: "project_id", Is: id, Newest: lately},
		{Table: historyTable, Column: "project_id", Is: id, Newest: lately},
		{Table: gatesTable, Column: "project_id", Is: id},
	}
}

// projectOf returns the id that a run's project has in the table.
func (c codec) projectOf(run *pawl.State) string {
	switch {
	case c.project != "":
		return c.project
	case run.Imported == System && run.ImportedAs != "":
		return run.ImportedAs
	}
	return run.Project
}

// Choose returns the codec of one project.
func (codec) Choose(project string) format.Format { return codec{project: project} }

// Projects returns the ids of the projects, in the order of the files.
func (codec) Projects(files format.Files) []string {
	var ids []string
	for _, e := range newReader(files, format.Env{}).entries {
		if !slices.Contains(ids, e.project) {
			ids = append(ids, e.project)
		}
	}
	return ids
}

// Read reads without looking at the project's own files.
func (c codec) Read(files format.Files, now time.Time) (format.Project, []pawl.Finding) {
	return c.ReadIn(files, format.Env{Now: now})
}

// ReadIn reads one project; the others are findings.
func (c codec) ReadIn(files format.Files, w format.Env) (format.Project, []pawl.Finding) {
	r := newReader(files, w)
	e := r.pick(c.project)
	if e == nil {
		return format.Project{System: System}, r.Found()
	}
	return r.reading(e), r.Found()
}
