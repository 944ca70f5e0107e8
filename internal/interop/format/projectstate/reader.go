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
	"pawl/internal/textedit/jsonedit"
)

// source is a file with its tables.
type source struct {
	format.File
	*dump.Dump
}

// entry is a row that says where a project stands.
type entry struct {
	*dump.Row
	source *source

	project, task, agent, action, native, phase string

	id                 int // of the row, where rows are counted
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

// at returns the place of a line; a database has none.
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

// problems returns what was not taken in of a file.
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
		if dump.IsUTF16(s.Data) {
			f.Hint = "iconv -f UTF-16 -t UTF-8 " + s.Path
		}
		found = append(found, f)
	}
	return found
}

// doubtful returns why it is not known what is there once the file is loaded: it breaks off, or changes its rows in ways that
// are not followed.
func (s *source) doubtful() []pawl.Finding {
	return slices.DeleteFunc(s.problems(), func(f pawl.Finding) bool { return f.Level != pawl.Bad })
}

// tablesReader reads the tables of all projects.
type tablesReader struct {
	report.Report
	env     format.Env
	sources []*source
	entries []*entry        // the one that counts of each project
	naive   map[string]bool // files whose times have no zone
}

func newTablesReader(files format.Files, env format.Env) *tablesReader {
	r := &tablesReader{env: env, naive: map[string]bool{}}
	for _, f := range files {
		if s := (&source{File: f, Dump: dump.Read(f.Data, tables...)}); s.hasStateTable() {
			r.sources = append(r.sources, s)
			r.Add(s.problems()...)
		}
	}
	r.readEntries()
	return r
}

// readEntries reads the rows of all projects. Of several rows of a project the newest counts, of two of one time the later.
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
	r.Bad(e.where(), "project %s has another row; the newest one is used, at %s", e.project, old.where())
}

// text returns the first of these columns that says something.
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
	e.id, _ = strconv.Atoi(text(row, "id")) // where it is not a number there is none
	e.updated = r.time(e, row, "last_updated", "updated_at")
	e.created = r.time(e, row, "created_at")
	e.meta = r.json(e, "metadata", jsonedit.Object)
	e.completed = names(cmp.Or(r.json(e, "completed_tasks", jsonedit.Array), e.meta.Get("completed_tasks")))
	e.pending = names(cmp.Or(r.json(e, "pending_tasks", jsonedit.Array), e.meta.Get("pending_tasks")))
	return e
}

// told are the columns that say where a project stands.
var told = []string{
	"project_id", "active_task_id", "current_task_id", "active_agent_id", "current_agent_id", "last_action", "status", "current_phase",
	"completed_tasks", "pending_tasks", "metadata", "created_at", "last_updated", "updated_at",
}

// unknown returns what is to say where the project stands, and only a database can work out.
func (e *entry) unknown() []dump.Cell {
	return slices.DeleteFunc(slices.Clone(e.Cells), func(c dump.Cell) bool { return c.Kind != dump.Expression || !slices.Contains(told, c.Column) })
}

func notKnown(c dump.Cell) string {
	return fmt.Sprintf("%s is not known: %s is for a database to work out", c.Column, clip(c.Text, 60))
}

// isTime reports whether a column holds a time.
func isTime(column string) bool { return strings.HasSuffix(column, "_at") || column == "last_updated" }

// time reads a time. One of the future counts for nothing.
func (r *tablesReader) time(e *entry, row *dump.Row, columns ...string) time.Time {
	written := text(row, columns...)
	at, zoned, ok := format.ParseTime(written)
	switch {
	case written == "":
	case !ok:
		r.Warn(e.where(), "%s is not a time: %q", columns[0], clip(written, 40))
	case at.After(r.env.Now.Add(skew)):
		r.Warn(e.where(), "%s is in the future: %s; ignored", columns[0], written)
		return time.Time{}
	case !zoned && !r.naive[e.source.Path]:
		r.naive[e.source.Path] = true
		r.Find(pawl.OK, e.source.Path, "", "times without a zone are taken as UTC, as the program writes them")
	}
	return at
}

// json reads a column in JSON, nil where it is empty or something else.
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
		r.Warn(e.where(), "%s is not what was expected: %s", column, clip(written, 40))
		return nil
	}
	return v
}

// names returns the ids in a list, of texts, numbers or objects that have an id.
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

// meant returns the rows of the projects of an id or name or, where there are none, of the only one whose id begins so; with "" all.
func (r *tablesReader) meant(project string) []*entry {
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

// pick returns the row of the project that is meant, nil where there is none, and tells of the others.
func (r *tablesReader) pick(project string) *entry {
	ranks := map[string]int{"active": 3, "paused": 2, "failed": 1}
	var best *entry
	for _, e := range r.meant(project) {
		if best == nil || cmp.Or(cmp.Compare(ranks[normalized(e.native)], ranks[normalized(best.native)]), e.updated.Compare(best.updated)) > 0 {
			best = e
		}
	}
	for _, e := range r.entries {
		if e != best && (project == "" || best == nil) {
			r.Find(pawl.Warn, e.where(), "pawl import projectstate --project "+e.project, "project %s (%s) exists too, and is not imported with it", e.project, e.native)
		}
	}
	return best
}

// normalized returns a status in the form in which it is compared.
func normalized(native string) string { return strings.ToLower(strings.TrimSpace(native)) }

// sameProject returns the rows of a table beside the state that are about a project.
func sameProject(s *source, table, project string) []*dump.Row {
	t := s.Table(table)
	if t == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(t.Rows), func(row *dump.Row) bool { return text(row, "project_id") != project })
}

// nameOf returns what a project is called, where a table says so.
func (r *tablesReader) nameOf(e *entry) string { return r.ofProject(e, "name", "title") }

func (r *tablesReader) ofProject(e *entry, columns ...string) string {
	for _, s := range r.sources {
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

// clip returns a text of a limited length, on one line.
func clip(s string, most int) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
