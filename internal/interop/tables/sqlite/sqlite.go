// Package sqlite dumps tables of SQLite databases as SQL text, and applies changes of that text to the database.
//
// It only uses SQLite itself, because others may have the database open: it sees the write-ahead log, and a change is one durable
// transaction. The file is never replaced. If someone else changed the tables since they were read, nothing is written, and the
// error is format.ErrChanged.
package sqlite

import (
	"bytes"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ncruces/go-sqlite3"
	_ "github.com/ncruces/go-sqlite3/driver" // the driver "sqlite3"

	"pawl/internal/interop/format"
	"pawl/internal/interop/tables/dump"
)

// MaxDump limits a dump, in bytes.
const MaxDump = 64 << 20

// magic is the start of a database file.
const magic = "SQLite format 3\x00"

// Is reports whether the file at a path is a database: by its first bytes or, if it is empty, by its name.
func Is(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	begin := make([]byte, len(magic))
	n, err := f.Read(begin)
	return err == nil && string(begin[:n]) == magic || n == 0 && Named(path)
}

// Named reports whether a name is a database's.
func Named(name string) bool {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".sqlite", ".sqlite3", ".db", ".db3":
		return true
	}
	return false
}

// open opens a database. mode is ro or rwc; lock says when a transaction locks it, deferred or immediate.
func open(path, mode, lock string) (*sql.DB, error) {
	for _, beside := range []string{"-wal", "-journal", "-shm"} {
		if info, err := os.Lstat(path + beside); err == nil && !info.Mode().IsRegular() {
			return nil, fmt.Errorf("%s is not a file", path+beside)
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	db, err := sql.Open("sqlite3", "file:"+(&url.URL{Path: path}).EscapedPath()+"?mode="+mode+
		"&_txlock="+lock+"&_pragma=busy_timeout(5000)&_pragma=synchronous(EXTRA)&_pragma=trusted_schema(0)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

// Dump returns the existing ones of these tables as SQL text, each value as SQLite writes it; nothing if none exists. It changes
// nothing, except that SQLite rolls back an interrupted transaction.
func Dump(path string, parts []dump.Part) ([]byte, error) {
	text, err := dumpAs("ro", path, parts)
	if errors.Is(err, sqlite3.READONLY_ROLLBACK) || errors.Is(err, sqlite3.READONLY_RECOVERY) {
		text, err = dumpAs("rw", path, parts)
	}
	return text, explain(path, err)
}

func dumpAs(mode, path string, parts []dump.Part) (text []byte, err error) {
	db, err := open(path, mode, "deferred")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	tx, err := db.Begin()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, tx.Rollback()) }()
	return dumpAll(tx, parts)
}

func dumpAll(tx *sql.Tx, parts []dump.Part) ([]byte, error) {
	var out bytes.Buffer
	for _, part := range parts {
		if err := dumpTable(&out, tx, part); err != nil {
			return nil, fmt.Errorf("table %s: %w", part.Table, err)
		}
	}
	return out.Bytes(), nil
}

func dumpTable(out *bytes.Buffer, tx *sql.Tx, part dump.Part) error {
	table := part.Table
	made, err := texts(tx, "SELECT sql FROM sqlite_master WHERE type = 'table' AND lower(name) = ?", table)
	if err != nil || len(made) == 0 || !strings.HasPrefix(strings.ToUpper(made[0]), "CREATE TABLE") {
		return err
	}
	keys, err := texts(tx, "SELECT sql FROM sqlite_master WHERE type = 'index' AND lower(tbl_name) = ? AND sql IS NOT NULL ORDER BY name", table)
	if err != nil {
		return err
	}
	columns, err := texts(tx, "SELECT name FROM pragma_table_info(?) ORDER BY cid", table)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s;\n", made[0])
	for _, key := range keys {
		fmt.Fprintf(out, "%s;\n", key)
	}
	var quoted []string
	for _, c := range columns {
		quoted = append(quoted, asSQL(name(c)))
	}
	rows, args, err := rowsOf(tx, part, columns)
	if err != nil {
		return err
	}
	return each(tx, func(row string) error {
		fmt.Fprintf(out, "INSERT INTO %s VALUES(%s);\n", name(table), row)
		if out.Len() > MaxDump {
			return fmt.Errorf("the tables are larger than %d MiB", MaxDump>>20)
		}
		return nil
	}, "SELECT "+strings.Join(quoted, " || ',' || ")+" FROM "+name(table)+rows, args...)
}

// rowsOf returns the SQL after FROM that selects the rows to read of a table. A table without the column has no such rows;
// from a table without row ids all are read, since their order is unknown.
func rowsOf(tx *sql.Tx, part dump.Part, columns []string) (behind string, args []any, err error) {
	if part.Column == "" || part.Numbered {
		return "", nil, nil
	}
	if !slices.ContainsFunc(columns, func(c string) bool { return strings.EqualFold(c, part.Column) }) {
		return " WHERE 0", nil, nil
	}
	behind, args = " WHERE "+name(part.Column)+" = ?", []any{part.Value}
	uncounted, err := texts(tx, "SELECT name FROM pragma_table_list(?) WHERE schema = 'main' AND wr", part.Table)
	if err == nil && len(uncounted) == 0 && part.Newest > 0 {
		behind = fmt.Sprintf(" WHERE rowid IN (SELECT rowid FROM %s%s ORDER BY rowid DESC LIMIT %d) ORDER BY rowid", name(part.Table), behind, part.Newest)
	}
	return behind, args, err
}

// asSQL returns an expression for a column's value as SQL. SQLite's quote cuts a text at its first zero byte, so such a text
// is cast.
func asSQL(column string) string {
	return "CASE WHEN typeof(" + column + ") = 'text' AND instr(" + column + ", char(0)) THEN 'CAST(X''' || hex(" + column +
		") || ''' AS TEXT)' ELSE quote(" + column + ") END"
}

// texts returns the rows of a query with one column.
func texts(tx *sql.Tx, query string, args ...any) (all []string, err error) {
	return all, each(tx, func(s string) error {
		all = append(all, s)
		return nil
	}, query, args...)
}

// each calls do for each row of a query with one column.
func each(tx *sql.Tx, do func(string) error, query string, args ...any) (err error) {
	rows, err := tx.Query(query, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return err
		}
		if err := do(s); err != nil {
			return err
		}
	}
	return rows.Err()
}

// name quotes a name for SQL.
func name(n string) string { return `"` + strings.ReplaceAll(n, `"`, `""`) + `"` }

// Apply applies to a database the difference between two texts: was, which Dump returned for these parts, and now. It changes
// values, and adds rows and tables. It creates the database if there is none.
func Apply(path string, parts []dump.Part, was, now []byte) (err error) {
	defer func() { err = explain(path, err) }()
	db, err := open(path, "rwc", "immediate")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	next := dump.Read(now)
	if err = unchanged(tx, parts, was, next); err == nil {
		err = carryOut(tx, dump.Read(was), next)
	}
	if err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// unchanged returns format.ErrChanged if the tables differ from the text, or if a table to create exists.
func unchanged(tx *sql.Tx, parts []dump.Part, was []byte, now *dump.Dump) error {
	var looked []dump.Part
	for _, t := range now.Tables {
		part := dump.Part{Table: t.Name}
		if i := slices.IndexFunc(parts, func(p dump.Part) bool { return strings.EqualFold(p.Table, t.Name) }); i >= 0 {
			part = parts[i]
		}
		looked = append(looked, part)
	}
	there, err := dumpAll(tx, looked)
	if err == nil && !bytes.Equal(there, was) {
		return format.ErrChanged
	}
	return err
}

func carryOut(tx *sql.Tx, was, now *dump.Dump) error {
	for _, t := range now.Tables {
		old := was.Table(t.Name)
		if old == nil {
			if _, err := tx.Exec(t.Made); err != nil {
				return fmt.Errorf("make %s: %w", t.Name, err)
			}
			old = &dump.Table{}
		}
		for i, row := range t.Rows {
			var err error
			if i < len(old.Rows) {
				err = update(tx, t.Name, old.Rows[i], row)
			} else {
				err = insert(tx, t.Name, row)
			}
			if err != nil {
				return fmt.Errorf("write %s: %w", t.Name, err)
			}
		}
	}
	return nil
}

// update changes the differing values of a row, which its old values identify.
func update(tx *sql.Tx, table string, old, row *dump.Row) error {
	var set, where []string
	var values, known []any
	for i, c := range row.Cells {
		was := old.Cells[i].Value
		where, known = append(where, name(c.Column)+" IS ?"), append(known, bound(was))
		if was != c.Value {
			set, values = append(set, name(c.Column)+" = ?"), append(values, bound(c.Value))
		}
	}
	if len(set) == 0 {
		return nil
	}
	done, err := tx.Exec("UPDATE "+name(table)+" SET "+strings.Join(set, ", ")+" WHERE "+strings.Join(where, " AND "), append(values, known...)...)
	if err != nil {
		return err
	}
	n, err := done.RowsAffected()
	if err == nil && n != 1 {
		return fmt.Errorf("%d rows are identical to the row to change", n)
	}
	return err
}

func insert(tx *sql.Tx, table string, row *dump.Row) error {
	var columns, marks []string
	var values []any
	for _, c := range row.Cells {
		columns, marks, values = append(columns, name(c.Column)), append(marks, "?"), append(values, bound(c.Value))
	}
	_, err := tx.Exec("INSERT INTO "+name(table)+" ("+strings.Join(columns, ", ")+") VALUES ("+strings.Join(marks, ", ")+")", values...)
	return err
}

// bound returns a value for the driver.
func bound(v dump.Value) any {
	switch v.Kind {
	case dump.Null:
		return nil
	case dump.Number:
		if n, err := strconv.ParseInt(v.Text, 10, 64); err == nil {
			return n
		}
		if f, err := strconv.ParseFloat(v.Text, 64); err == nil {
			return f
		}
	case dump.Blob:
		if b, err := hex.DecodeString(v.Text); err == nil {
			return b
		}
	}
	return v.Text
}
