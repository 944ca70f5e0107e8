package projectstate

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/interop/format/report"
	"pawl/internal/interop/tables/dump"
	"pawl/internal/shellwords"
	"pawl/internal/textedit/jsonedit"
)

// source is a file with its tables.
type source struct {
	format.File
	*dump.Dump
}

// entry is a row with the state of a project.
type entry struct {
	*dump.Row
	source *source

	project, task, agent, action, native, phase string

	id                 int // of the row, if it has a number
	updated, created   time.Time
	completed, pending []string
	meta               *jsonedit.Value
}

func (e *entry) where() string {
	if e.source.Was != nil {
		return e.source.Path + ": " + e.project
	}
	return e.source.at(e.Line)
}

// at returns the location of a line; a database has no lines.
func (s *source) at(line int) string {
	if s.Was != nil {
		return s.Path
	}
	return fmt.Sprintf("%s:%d", s.Path, line)
}

// hasStateTable reports whether a file has the table or, if it cannot be parsed to its end, mentions it.
func (s *source) hasStateTable() bool {
	if s.Table(statesTable) != nil {
		return true
	}
	if len(s.Problems) == 0 {
		return false
	}
	plain := s.Data
	if dump.IsUTF16(plain) {
		plain = bytes.ReplaceAll(plain, []byte{0}, nil)
	}
	return bytes.Contains(bytes.ToLower(plain), []byte(statesTable))
}

// problems returns a finding for each statement that could not be parsed.
func (s *source) problems() []pawl.Finding {
	var found []pawl.Finding
	for _, p := range s.Problems {
		f := pawl.Finding{Level: pawl.Warn, Where: s.at(p.Line), What: p.Why}
		if p.Cut {
			f.Level, f.Hint = pawl.Bad, "restore a complete copy of it"
		}
		if p.Unsure {
			f.Level, f.Hint = pawl.Bad, "load it into a database, and name that or a new dump of it"
		}
		if dump.IsArchive(s.Data) {
			f.Hint = "pg_restore -f " + shellwords.Word(s.Path+".sql") + " " + shellwords.Word(s.Path)
		}
		if dump.IsUTF16(s.Data) {
			f.Hint = "iconv -f UTF-16 -t UTF-8 " + s.Path
		}
		found = append(found, f)
	}
	return found
}

// doubtful returns why the content after loading is not certain: the file is truncated, or changes its rows in ways that are
// not evaluated.
func (s *source) doubtful() []pawl.Finding {
	return slices.DeleteFunc(s.problems(), func(f pawl.Finding) bool { return f.Level != pawl.Bad })
}

// tablesReader reads the tables of all projects.
type tablesReader struct {
	report.Report
	env     format.Env
	sources []*source
	entries []*entry        // the current one of each project
	naive   map[string]bool // files with times without a zone
}

func newTablesReader(files format.Files, env format.Env) *tablesReader {
	r := &tablesReader{env: env, naive: map[string]bool{}}
	for _, f := range files {
		for _, d := range dump.Read(f.Data, tables...).Databases() {
			if s := (&source{File: f, Dump: d}); s.hasStateTable() {
				r.sources = append(r.sources, s)
				r.Add(s.problems()...)
			}
		}
	}
	r.readEntries()
	return r
}

// readEntries reads the rows of all projects. Of several rows of a project the newest counts, or the later one if their
// times are equal.
func (r *tablesReader) readEntries() {
	for _, s := range r.sources {
		t := s.Table(statesTable)
		if t == nil {
			continue
		}
		for _, row := range t.Rows {
			e := r.entry(s, row)
			if e.project == "" {
				r.Bad(e.where(), "a row without project_id is ignored")
				continue
			}
			r.count(e)
		}
	}
}

func (r *tablesReader) count(e *entry) {
	i := slices.IndexFunc(r.entries, func(o *entry) bool { return o.project == e.project })
	if i < 0 {
		r.entries = append(r.entries, e)
		return
	}
	old := r.entries[i]
	if cmp.Or(e.updated.Compare(old.updated), cmp.Compare(e.id, old.id)) >= 0 {
		r.entries[i] = e
		e, old = old, e
	}
	if e.source.Database != old.source.Database {
		r.Find(pawl.Bad, e.where(), "pg_dump "+shellwords.Word(e.source.Database)+" > "+shellwords.Word(e.source.Database+".sql"),
			"project %s is in the databases %q and %q of this dump; the newest row is used, at %s, with the other tables of its database", e.project, e.source.Database, old.source.Database, old.where())
		return
	}
	r.Bad(e.where(), "project %s has another row; the newest one is used, at %s", e.project, old.where())
}

// sourcesOf returns the files whose other tables can belong to a row: not the other databases of its own text.
func (r *tablesReader) sourcesOf(e *entry) []*source {
	return slices.DeleteFunc(slices.Clone(r.sources), func(s *source) bool { return s != e.source && s.Path == e.source.Path })
}

// text returns the first non-empty value of these columns.
func text(row *dump.Row, columns ...string) string {
	for _, c := range columns {
		if v, ok := row.Get(c); ok && v.Kind != dump.Null && v.Kind != dump.Expression {
			return v.Text
		}
	}
	return ""
}

func (r *tablesReader) entry(s *source, row *dump.Row) *entry {
	e := &entry{
		Row: row, source: s, project: text(row, "project_id"), task: text(row, "active_task_id", "current_task_id"),
		agent: text(row, "active_agent_id", "current_agent_id"), action: text(row, "last_action"), native: text(row, "status"),
		phase: text(row, "current_phase"),
	}
	for _, c := range e.unknown() {
		level := pawl.Bad
		if isTime(c.Column) {
			level = pawl.Warn
		}
		r.Find(level, e.where(), "", "%s", notKnown(c))
	}
	e.id, _ = strconv.Atoi(text(row, "id")) // 0 if it is not a number
	e.updated = r.time(e, row, "last_updated", "updated_at")
	e.created = r.time(e, row, "created_at")
	e.meta = r.json(e, "metadata", jsonedit.Object)
	e.completed = names(cmp.Or(r.json(e, "completed_tasks", jsonedit.Array), e.meta.Get("completed_tasks")))
	e.pending = names(cmp.Or(r.json(e, "pending_tasks", jsonedit.Array), e.meta.Get("pending_tasks")))
	return e
}

// stateColumns are the columns with the position of a project.
var stateColumns = []string{
	"project_id", "active_task_id", "current_task_id", "active_agent_id", "current_agent_id", "last_action", "status", "current_phase",
	"completed_tasks", "pending_tasks", "metadata", "created_at", "last_updated", "updated_at",
}

// unknown returns the cells of stateColumns that only a database can evaluate.
func (e *entry) unknown() []dump.Cell {
	return slices.DeleteFunc(slices.Clone(e.Cells), func(c dump.Cell) bool { return c.Kind != dump.Expression || !slices.Contains(stateColumns, c.Column) })
}

func notKnown(c dump.Cell) string {
	return fmt.Sprintf("%s is unknown: only a database can evaluate %s", c.Column, clip(c.Text, 60))
}

// isTime reports whether a column holds a time.
func isTime(column string) bool { return strings.HasSuffix(column, "_at") || column == "last_updated" }

// time parses a time. A time in the future is ignored.
func (r *tablesReader) time(e *entry, row *dump.Row, columns ...string) time.Time {
	written := text(row, columns...)
	at, zoned, ok := format.ParseTime(written)
	switch {
	case written == "":
	case !ok:
		r.Warn(e.where(), "%s is not a time: %q", columns[0], clip(written, 40))
	case at.After(r.env.Now.Add(clockSkew)):
		r.Warn(e.where(), "%s is in the future: %s; ignored", columns[0], written)
		return time.Time{}
	case !zoned && !r.naive[e.source.Path]:
		r.naive[e.source.Path] = true
		r.Find(pawl.OK, e.source.Path, "", "times without a zone are taken as UTC, as the program writes them")
	}
	return at
}

// json parses a JSON column, nil if it is empty or invalid.
func (r *tablesReader) json(e *entry, column string, want jsonedit.Kind) *jsonedit.Value {
	written := text(e.Row, column)
	if strings.TrimSpace(written) == "" {
		return nil
	}
	v, err := jsonedit.Read([]byte(written))
	switch {
	case err != nil:
		r.Bad(e.where(), "%s is not valid JSON: %v", column, err)
		return nil
	case v.Is(jsonedit.Null):
		return nil
	case !v.Is(want):
		r.Warn(e.where(), "%s has an unexpected value: %s", column, clip(written, 40))
		return nil
	}
	return v
}

// names returns the ids in a list of strings, numbers or objects with an id.
func names(list *jsonedit.Value) []string {
	if list == nil {
		return nil
	}
	var ids []string
	for _, item := range list.Items {
		if id := nameOf(item); id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

func nameOf(item *jsonedit.Value) string {
	switch item.Kind {
	case jsonedit.String:
		return item.Text()
	case jsonedit.Number:
		return string(item.Raw())
	case jsonedit.Object:
		for _, key := range []string{"id", "task_id", "name"} {
			if v := item.Get(key); v.Is(jsonedit.String) || v.Is(jsonedit.Number) {
				return nameOf(v)
			}
		}
	}
	return ""
}

// matching returns the rows of the projects with an id or name or, if there are none, of the only one with this id prefix;
// with "" all rows.
func (r *tablesReader) matching(project string) []*entry {
	var same, begin []*entry
	for _, e := range r.entries {
		if project == "" || e.project == project || r.nameOf(e) == project {
			same = append(same, e)
		}
		if strings.HasPrefix(e.project, project) {
			begin = append(begin, e)
		}
	}
	if len(same) == 0 && len(begin) == 1 {
		return begin
	}
	return same
}

// pick returns the row of the selected project, nil if there is none, and reports the others.
func (r *tablesReader) pick(project string) *entry {
	ranks := map[string]int{"active": 3, "paused": 2, "failed": 1}
	var best *entry
	for _, e := range r.matching(project) {
		if best == nil || cmp.Or(cmp.Compare(ranks[normalized(e.native)], ranks[normalized(best.native)]), e.updated.Compare(best.updated)) > 0 {
			best = e
		}
	}
	for _, e := range r.entries {
		if e != best && (project == "" || best == nil) {
			r.Find(pawl.Warn, e.where(), "pawl import projectstate --project "+shellwords.Word(e.project), "project %s (%s) exists too, and is not imported with it", e.project, e.native)
		}
	}
	return best
}

// normalized returns a status in the form for comparison.
func normalized(native string) string { return strings.ToLower(strings.TrimSpace(native)) }

// sameProject returns the rows of another table that belong to a project.
func sameProject(s *source, table, project string) []*dump.Row {
	t := s.Table(table)
	if t == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(t.Rows), func(row *dump.Row) bool { return text(row, "project_id") != project })
}

// nameOf returns the name of a project, if a table has it.
func (r *tablesReader) nameOf(e *entry) string { return r.ofProject(e, "name", "title") }

func (r *tablesReader) ofProject(e *entry, columns ...string) string {
	for _, s := range r.sourcesOf(e) {
		if t := s.Table(projectsTable); t != nil {
			for _, row := range t.Rows {
				if text(row, "id") == e.project {
					return text(row, columns...)
				}
			}
		}
	}
	return ""
}

// clip returns a text on one line, with limited length.
func clip(s string, most int) string {
	s = strings.Join(strings.Fields(strings.ReplaceAll(s, "\x00", "")), " ") // SQL has no NUL
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
