// Package dump parses SQL dumps as pg_dump and sqlite3 write them: rows by INSERT and by COPY, and which columns are unique. It
// changes a value, or adds a row, in place, and leaves all other bytes as they are.
//
// It returns the rows that exist once the whole text is loaded: a row that is replaced by ON CONFLICT and the like is none of them.
// It executes nothing else. It skips statements that it does not know; a statement that changes rows in a way that it cannot
// evaluate, and a truncated text, are problems with a line. It is pure and safe for untrusted input: no input makes it panic or
// take more than a moment.
package dump

import (
	"bytes"
	"slices"
	"strings"

	"pawl/internal/textedit"
)

// Dump is a parsed SQL text or, if the text has several databases, one of them.
type Dump struct {
	Database string // its name, if the text has one

	Tables   []*Table // in the order of their first mention
	Problems []Problem
	Counters []*Counter // of sequences

	only  []string // the tables whose rows are read; none: all
	named map[string]*Table
	text  []byte
	mysql bool
	edits []textedit.Edit
	all   []*Dump // the databases of the text, in their order; the same for each of them
}

// Databases returns the databases of the text that have tables or problems; at least one.
func (d *Dump) Databases() []*Dump {
	some := slices.DeleteFunc(slices.Clone(d.all), func(d *Dump) bool { return len(d.Tables) == 0 && len(d.Problems) == 0 })
	if len(some) == 0 {
		return []*Dump{d}
	}
	return some
}

// database returns a database of the same text, a new one if the text has not mentioned it before.
func (d *Dump) database(name string) *Dump {
	for _, other := range d.all {
		if other.Database == name {
			return other
		}
	}
	made := &Dump{Database: name, text: d.text, only: d.only, mysql: d.mysql, named: map[string]*Table{}, all: append(d.all, nil)}
	made.all[len(d.all)] = made
	for _, other := range d.all {
		other.all = made.all
	}
	return made
}

// Problem is a part of the text that is not evaluated.
type Problem struct {
	Line   int
	Why    string
	Cut    bool // the text is truncated, or cannot be read: nothing can be added to it
	Unsure bool // the rows after loading are unknown: a change of the text may have no effect
}

// Table is a table of the text.
type Table struct {
	Name    string   // without schema, in lower case
	Columns []string // in lower case, from CREATE TABLE or the first rows
	Keys    [][]string
	Rows    []*Row
	Line    int
	Made    string // the CREATE TABLE statement, "" if there is none

	written string // its name as written, with schema and quotes
	end     int    // offset after its CREATE TABLE
	last    *statement
	indexes []*index
}

// Unique reports whether a single column of the table is unique.
func (t *Table) Unique(column string) bool {
	return slices.ContainsFunc(t.Keys, func(key []string) bool { return len(key) == 1 && key[0] == column })
}

// Row is a row of a table.
type Row struct {
	Line  int
	Cells []Cell

	in       *statement
	from, to int  // offsets of the tuple with its parentheses, or of the line
	replaced bool // by a later row
}

// Cell is a value in a row.
type Cell struct {
	Column string
	Value
	from, to int
	inCopy   bool // in a line of a COPY
}

// Get returns the value of a column, and whether the row has one.
func (r *Row) Get(column string) (Value, bool) {
	for i := range r.Cells {
		if r.Cells[i].Column == column {
			return r.Cells[i].Value, true
		}
	}
	return Value{}, false
}

// Counter is the current value of a sequence.
type Counter struct {
	Name     string // without its schema, in lower case
	At       string // digits
	from, to int
}

// statement is the INSERT or COPY of a row.
type statement struct {
	copied  bool
	cut     bool // a truncated COPY, which is never changed
	columns []string
	head    string // of an INSERT, up to the first row
	gap     string // between VALUES and the first row
	named   int    // offset of the parenthesis that closes the list of columns, 0 if there is none
	rows    int
	end     int // offset after it and its semicolon; of a COPY after its last row
}

// Table returns a table, nil if the text has none of that name.
func (d *Dump) Table(name string) *Table { return d.named[name] }

// Read parses a text, and returns the first of its databases. It never fails: what cannot be parsed is a problem. If tables are
// named, the rows of others are skipped, so that they cost no memory.
func Read(text []byte, only ...string) *Dump {
	d := &Dump{text: text, only: only, named: map[string]*Table{}}
	d.all = []*Dump{d}
	if IsArchive(text) {
		d.Problems = append(d.Problems, Problem{Line: 1, Why: "it is a pg_dump archive, not SQL text, and was not read", Cut: true})
		return d
	}
	if IsUTF16(text) {
		d.Problems = append(d.Problems, Problem{Line: 1, Why: "it is UTF-16 and was not read", Cut: true})
		return d
	}
	r := &reader{Dump: d, scanner: scanner{text: text, at: textedit.Whole(text).From, mysql: isMySQL(text)}}
	d.mysql = r.scanner.mysql
	for r.statement() {
	}
	for _, d := range d.all {
		for _, t := range d.Tables {
			t.Rows = slices.DeleteFunc(t.Rows, func(row *Row) bool { return row.replaced })
		}
	}
	return d.Databases()[0]
}

// IsArchive reports whether a text is an archive that pg_dump writes with -Fc or -Ft.
func IsArchive(text []byte) bool {
	const magic, block = "PGDMP", 512 // the first file of a tar archive follows its header
	return bytes.HasPrefix(text, []byte(magic)) || len(text) > block && bytes.HasPrefix(text[block:], []byte(magic))
}

// IsUTF16 reports whether a text starts with the byte order mark of UTF-16.
func IsUTF16(text []byte) bool {
	return bytes.HasPrefix(text, []byte("\xff\xfe")) || bytes.HasPrefix(text, []byte("\xfe\xff"))
}

// table returns the table of a name, a new one if the text has not mentioned it before.
func (d *Dump) table(written string, line int) *Table {
	name := bare(written)
	if t := d.Table(name); t != nil {
		return t
	}
	t := &Table{Name: name, Line: line, written: written}
	d.Tables, d.named[name] = append(d.Tables, t), t
	return t
}

// wants reports whether the rows of a table are read.
func (d *Dump) wants(written string) bool {
	return len(d.only) == 0 || slices.Contains(d.only, bare(written))
}

// bare returns a name without schema and quotes, in lower case.
func bare(written string) string {
	s := scanner{text: []byte(written)}
	last := ""
	for t, ok := s.next(); ok; t, ok = s.next() {
		if t.kind == word || t.kind == quoted || t.kind == text {
			last = t.text
		}
	}
	return strings.ToLower(last)
}
