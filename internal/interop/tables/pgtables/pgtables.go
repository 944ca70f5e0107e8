// Package pgtables dumps tables of a Postgres database as SQL text, and applies changes of that text to the database.
//
// Others write to the same tables. A change is one transaction; if someone else has changed the rows since they were read, nothing
// is written, and the error is format.ErrChanged. It never creates or changes a table.
package pgtables

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/interop/format"
	"pawl/internal/interop/tables/dump"
	"pawl/internal/lazyregexp"
	"pawl/internal/postgres"
)

// maxDump limits a dump, in bytes.
const maxDump = 64 << 20

// callLimit is how long a call may take.
const callLimit = 10 * time.Second

// Database is the database that PAWL_POSTGRES or the user's own settings name. It connects on the first call. Its methods may be
// called concurrently.
type Database struct {
	Base    context.Context // calls end with it
	Getenv  func(string) string
	Notices *postgres.Notices // those of the process; nil: none

	mu sync.Mutex // guards db
	db *sql.DB
}

var _ format.Server = (*Database)(nil)

// Close closes the connections.
func (d *Database) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.db == nil {
		return nil
	}
	return d.db.Close()
}

// connect returns the connections. Settings in the project at root do not count.
func (d *Database) connect(ctx context.Context, root string) (*sql.DB, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.db != nil {
		return d.db, nil
	}
	dsn, err := config.Postgres(d.Getenv, root)
	if err == nil && dsn == "" {
		err = &pawl.Error{Kind: pawl.KindUsage, Err: errors.New("no database: " + config.PostgresVariable + " is not set"), Hint: "pawl store --help"}
	}
	if err != nil {
		return nil, err
	}
	d.db, err = postgres.SQL(ctx, dsn)
	return d.db, err
}

// in calls do in a transaction that sees one state of the database.
func (d *Database) in(root string, write bool, do func(context.Context, *sql.Tx) error) error {
	ctx, cancel := context.WithTimeout(d.Base, callLimit)
	defer cancel()
	db, err := d.connect(ctx, root)
	if err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: !write})
	if err != nil {
		return postgres.Unreached("connect", err)
	}
	if _, err = tx.ExecContext(ctx, `set local time zone 'UTC'; set local datestyle = 'ISO'; set local standard_conforming_strings = on`); err == nil {
		err = do(ctx, tx)
	}
	switch {
	case err != nil:
		err = errors.Join(err, tx.Rollback())
	case write:
		err = tx.Commit()
	default:
		err = tx.Rollback()
	}
	if postgres.IsConflict(err) {
		return fmt.Errorf("%w: %w", format.ErrChanged, err)
	}
	return err
}

// table is a table of the database.
type table struct {
	name    string // quoted, with its schema
	part    dump.Part
	columns []column
	keys    []string // its primary key and its unique keys, as SQL
}

type column struct {
	name, kind string
	assigned   bool // the database assigns its values: it is a serial or an identity
}

func (t *table) column(name string) *column {
	if i := slices.IndexFunc(t.columns, func(c column) bool { return c.name == name }); i >= 0 {
		return &t.columns[i]
	}
	return nil
}

const findColumns = `
select format('%I.%I', n.nspname, c.relname), a.attname, format_type(a.atttypid, a.atttypmod),
    a.attidentity <> '' or coalesce(pg_get_expr(d.adbin, d.adrelid) like 'nextval(%', false)
from pg_class c join pg_namespace n on n.oid = c.relnamespace
join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
where c.oid = to_regclass($1) and c.relkind in ('r', 'p')
order by a.attnum`

const findKeys = `
select case when x.indisprimary then 'PRIMARY KEY' else 'UNIQUE' end || ' (' ||
    (select string_agg(quote_ident(a.attname), ', ' order by k.at)
     from unnest(x.indkey::int[]) with ordinality as k (attnum, at) join pg_attribute a on a.attrelid = x.indrelid and a.attnum = k.attnum) || ')'
from pg_index x
where x.indrelid = to_regclass($1) and x.indisunique and x.indpred is null and x.indexprs is null
order by x.indexrelid`

// find returns the table of a part, nil if the database has none.
func find(ctx context.Context, tx *sql.Tx, part dump.Part) (*table, error) {
	t := &table{part: part}
	err := each(ctx, tx, func(scan func(...any) error) error {
		var c column
		if err := scan(&t.name, &c.name, &c.kind, &c.assigned); err != nil {
			return err
		}
		t.columns = append(t.columns, c)
		return nil
	}, findColumns, quoted(part.Table))
	if err != nil || len(t.columns) == 0 {
		return nil, err
	}
	return t, each(ctx, tx, func(scan func(...any) error) error {
		var key string
		err := scan(&key)
		t.keys = append(t.keys, key)
		return err
	}, findKeys, quoted(part.Table))
}

// each calls do for each row of a query.
func each(ctx context.Context, tx *sql.Tx, do func(scan func(...any) error) error, query string, args ...any) (err error) {
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := do(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// create returns the statement that describes the table, for readers of the text.
func (t *table) create() string {
	var parts []string
	for _, c := range t.columns {
		parts = append(parts, quoted(c.name)+" "+c.kind)
	}
	return "CREATE TABLE " + quoted(t.part.Table) + " (\n    " + strings.Join(append(parts, t.keys...), ",\n    ") + "\n);\n"
}

var uuid = lazyregexp.New(`^[0-9a-fA-F]{8}-?([0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}$`)

// where returns the condition of the part's rows, and its argument.
func (t *table) where() (condition string, args []any) {
	if t.part.Column == "" {
		return "true", nil
	}
	c := t.column(t.part.Column)
	switch {
	case c == nil:
		return "false", nil
	case c.kind != "uuid":
		return quoted(c.name) + "::text = $1", []any{t.part.Value}
	case !uuid.MatchString(t.part.Value):
		return "false", nil
	}
	return quoted(c.name) + " = $1::text::uuid", []any{t.part.Value}
}

// order returns the rows to read, and their order.
func (t *table) order() string {
	if t.part.Newest == 0 {
		return " order by ctid"
	}
	return fmt.Sprintf(" order by age(xmin), ctid desc limit %d", t.part.Newest)
}

// row is a row of a table, and where it is.
type row struct {
	at   string
	text string
}

// rows returns the rows of the part, each as an INSERT.
func (t *table) rows(ctx context.Context, tx *sql.Tx) (all []row, err error) {
	var names, values []string
	for _, c := range t.columns {
		names, values = append(names, quoted(c.name)), append(values, literal(c))
	}
	head := "INSERT INTO " + quoted(t.part.Table) + " (" + strings.Join(names, ", ") + ") VALUES ("
	condition, args := t.where()
	size := 0
	err = each(ctx, tx, func(scan func(...any) error) error {
		r := row{}
		if err := scan(&r.at, &r.text); err != nil {
			return err
		}
		r.text = head + r.text + ");\n"
		if size += len(r.text); size > maxDump {
			return fmt.Errorf("the rows are larger than %d MiB", maxDump>>20)
		}
		all = append(all, r)
		return nil
	}, "select ctid::text, "+strings.Join(values, " || ', ' || ")+" from "+t.name+" where "+condition+t.order(), args...)
	if t.part.Newest > 0 {
		slices.Reverse(all)
	}
	return all, err
}

// literal returns an expression for a column's value as SQL, without escapes.
func literal(c column) string {
	text := quoted(c.name) + "::text"
	switch c.kind {
	case "smallint", "integer", "bigint":
		return "coalesce(" + text + ", 'NULL')"
	}
	return "coalesce('''' || replace(" + text + ", '''', '''''') || '''', 'NULL')"
}

// Dump returns the existing ones of these tables as SQL text; nothing if there are none.
func (d *Database) Dump(root string, parts []dump.Part) (text []byte, err error) {
	err = d.in(root, false, func(ctx context.Context, tx *sql.Tx) error {
		text, _, err = dumpAll(ctx, tx, parts)
		return err
	})
	return text, err
}

// read is a table with the place of each of its rows.
type read struct {
	*table
	at []string
}

func dumpAll(ctx context.Context, tx *sql.Tx, parts []dump.Part) (text []byte, tables map[string]read, err error) {
	var out bytes.Buffer
	tables = map[string]read{}
	for _, part := range parts {
		t, err := find(ctx, tx, part)
		if err != nil {
			return nil, nil, postgres.Unreached("read table "+part.Table, err)
		}
		if t == nil {
			continue
		}
		rows, err := t.rows(ctx, tx)
		if err != nil {
			return nil, nil, postgres.Unreached("read table "+part.Table, err)
		}
		out.WriteString(t.create())
		known := read{table: t}
		for _, r := range rows {
			out.WriteString(r.text)
			known.at = append(known.at, r.at)
		}
		tables[part.Table] = known
	}
	return out.Bytes(), tables, nil
}

// Apply applies to the database the difference between two texts: was, which Dump returned for these parts, and now. It changes
// values and adds rows.
func (d *Database) Apply(root string, parts []dump.Part, was, now []byte) error {
	changes := 0
	err := d.in(root, true, func(ctx context.Context, tx *sql.Tx) error {
		there, tables, err := dumpAll(ctx, tx, parts)
		if err != nil {
			return err
		}
		if !bytes.Equal(there, was) {
			return format.ErrChanged
		}
		old := dump.Read(was)
		for _, t := range dump.Read(now).Tables {
			known, ok := tables[t.Name]
			if !ok {
				return fmt.Errorf("the database has no table %s", t.Name)
			}
			n, err := known.write(ctx, tx, old.Table(t.Name).Rows, t.Rows)
			if err != nil {
				return postgres.Unreached("write table "+t.Name, err)
			}
			changes += n
		}
		return nil
	})
	if err == nil && changes > 0 {
		d.announce(root, parts)
	}
	return err
}

// keysOf returns the values that the rows of parts are limited to: the id of the project.
func keysOf(parts []dump.Part) (keys []string) {
	for _, part := range parts {
		if part.Column != "" && part.Value != "" {
			keys = append(keys, part.Value)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// announce tells other processes that the rows have changed.
func (d *Database) announce(root string, parts []dump.Part) {
	if d.Notices == nil {
		return
	}
	ctx, cancel := context.WithTimeout(d.Base, callLimit)
	defer cancel()
	db, err := d.connect(ctx, root)
	for _, key := range keysOf(parts) {
		if err == nil {
			_, err = db.ExecContext(ctx, postgres.Announcement, d.Notices.Payload(key)) // others look from time to time too
		}
	}
}

// Hear implements format.Server.
func (d *Database) Hear(root string, parts []dump.Part) (heard <-chan struct{}, stop func()) {
	dsn, err := config.Postgres(d.Getenv, root)
	if d.Notices == nil || err != nil || dsn == "" {
		return nil, func() {}
	}
	return d.Notices.Hear(d.Base, dsn, keysOf(parts)...)
}

// write changes and adds rows, and returns how many.
func (r read) write(ctx context.Context, tx *sql.Tx, old, now []*dump.Row) (changes int, err error) {
	if len(old) != len(r.at) || len(now) < len(old) {
		return 0, fmt.Errorf("%d rows were read as %d", len(r.at), len(old))
	}
	for i, row := range now {
		query, args := r.insert(row)
		if i < len(old) {
			query, args = r.update(r.at[i], old[i], row)
		}
		if query == "" {
			continue
		}
		if _, err := tx.ExecContext(ctx, query, args...); err != nil {
			return 0, err
		}
		changes++
	}
	return changes, nil
}

// update returns the statement that changes the differing values of a row; "" if there are none.
func (r read) update(at string, old, row *dump.Row) (query string, args []any) {
	args = []any{at}
	var set []string
	for i, c := range row.Cells {
		if i < len(old.Cells) && old.Cells[i].Value == c.Value {
			continue
		}
		args = append(args, bound(c.Value))
		set = append(set, quoted(c.Column)+" = "+r.value(c.Column, len(args)))
	}
	if len(set) == 0 {
		return "", nil
	}
	return "update " + r.name + " set " + strings.Join(set, ", ") + " where ctid = $1::text::tid", args
}

// insert returns the statement that adds a row. The database numbers it.
func (r read) insert(row *dump.Row) (query string, args []any) {
	var columns, values []string
	for _, c := range row.Cells {
		if known := r.column(c.Column); known == nil || known.assigned || c.Kind == dump.Null {
			continue
		}
		args = append(args, bound(c.Value))
		columns, values = append(columns, quoted(c.Column)), append(values, r.value(c.Column, len(args)))
	}
	return "insert into " + r.name + " (" + strings.Join(columns, ", ") + ") values (" + strings.Join(values, ", ") + ")", args
}

// value returns the expression of an argument for a column.
func (r read) value(name string, n int) string {
	kind := "text"
	if c := r.column(name); c != nil {
		kind = c.kind
	}
	return fmt.Sprintf("$%d::text::%s", n, kind)
}

// Stamp returns a text that changes with each write to the rows of these parts that are limited to a value.
func (d *Database) Stamp(root string, parts []dump.Part) (stamp string, err error) {
	err = d.in(root, false, func(ctx context.Context, tx *sql.Tx) error {
		for _, part := range parts {
			t, err := find(ctx, tx, part)
			if err != nil || t == nil || part.Column == "" {
				return err
			}
			condition, args := t.where()
			var of string
			query := "select coalesce(string_agg(xmin::text || ctid::text, ' ' order by ctid), '') from " + t.name + " where " + condition
			if err := tx.QueryRowContext(ctx, query, args...).Scan(&of); err != nil {
				return err
			}
			stamp += part.Table + " " + of + "\n"
		}
		return nil
	})
	return stamp, postgres.Unreached("read the tables", err)
}

// quoted quotes a name for SQL.
func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// bound returns a value for the driver.
func bound(v dump.Value) any {
	if v.Kind == dump.Null {
		return nil
	}
	return v.Text
}
