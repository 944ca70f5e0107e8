package pgtables_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl/internal/interop/format"
	"pawl/internal/interop/tables/dump"
	"pawl/internal/interop/tables/pgtables"
	"pawl/internal/postgres"
	"pawl/internal/postgres/postgrestest"
)

var server *postgrestest.Server

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	var err error
	if server, err = postgrestest.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if err := server.Remove(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// open makes a database by some statements. It returns what pawl uses, and connections of somebody else.
func open(t *testing.T, statements ...string) (*pgtables.Database, *sql.DB) {
	t.Helper()
	dsn, err := server.Database(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := postgres.SQL(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	do(t, theirs, statements...)
	d := &pgtables.Database{Base: t.Context(), Getenv: func(name string) string { return map[string]string{"PAWL_POSTGRES": dsn}[name] }}
	t.Cleanup(func() {
		if err := errors.Join(d.Close(), theirs.Close()); err != nil {
			t.Error(err)
		}
	})
	return d, theirs
}

func do(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
}

func dumped(t *testing.T, d *pgtables.Database, parts ...dump.Part) []byte {
	t.Helper()
	text, err := d.Dump(t.TempDir(), parts)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// everything is a table with what SQL text could get wrong.
var everything = []string{
	`create table t (id serial primary key, "Odd ""name" text, p uuid unique, n integer, at timestamptz, plain timestamp, j jsonb, b boolean)`,
	`insert into t ("Odd ""name", p, n, at, plain, j, b) values
		(E'it''s \\ one\n', '7b1d9a52-0c3e-4f6a-9d21-5e8f00aa1102', -1, '2026-02-28 08:00:00.5+01', '2026-02-28 08:00:00', '{"b":1,  "aaa":"\\n"}', true),
		(null, '7b1d9a52-0c3e-4f6a-9d21-5e8f00aa1103', null, null, null, null, null)`,
}

func TestValues(t *testing.T) {
	t.Parallel()
	d, theirs := open(t, everything...)
	was := dumped(t, d, dump.Part{Table: "absent"}, dump.Part{Table: "t"})
	read := dump.Read(was)
	if len(read.Problems) > 0 {
		t.Fatal(read.Problems)
	}
	var values []string
	for _, c := range read.Table("t").Rows[0].Cells {
		values = append(values, c.Text)
	}
	want := []string{"1", "it's \\ one\n", "7b1d9a52-0c3e-4f6a-9d21-5e8f00aa1102", "-1", "2026-02-28 07:00:00.5+00", "2026-02-28 08:00:00", `{"b": 1, "aaa": "\\n"}`, "true"}
	if diff := cmp.Diff(want, values); diff != "" {
		t.Error(diff)
	}
	table := read.Table("t")
	read.Set(table.Rows[1], "n", dump.Value{Kind: dump.Number, Text: "7"})
	read.Set(table.Rows[0], "j", dump.TextOf(`{"x": "it's \\"}`))
	read.Set(table.Rows[0], "b", dump.Value{})
	read.Append(table, []dump.Pair{{Column: "id", Value: dump.Value{Kind: dump.Number, Text: "3"}}, {Column: "p", Value: dump.TextOf("7b1d9a520c3e4f6a9d215e8f00aa1104")}})
	if err := d.Apply("", []dump.Part{{Table: "t"}}, was, read.Bytes()); err != nil {
		t.Fatal(err)
	}
	do(t, theirs, `insert into t (n) values (4)`) // the database's own numbers go on
	var text string
	err := theirs.QueryRowContext(t.Context(), `select string_agg(concat_ws(' ', id, n, right(p::text, 4), j, b), ',' order by id) from t`).Scan(&text)
	if want := `1 -1 1102 {"x": "it's \\"},2 7 1103,3 1104,4 4`; err != nil || text != want {
		t.Errorf("%v\n%s\n%s", err, text, want)
	}
}

// TestSomebodyElseWasFaster: whatever somebody else did to the rows since they were read, nothing is written.
func TestSomebodyElseWasFaster(t *testing.T) {
	t.Parallel()
	part := []dump.Part{{Table: "t", Column: "p", Value: "7b1d9a52-0c3e-4f6a-9d21-5e8f00aa1102"}}
	for _, c := range []struct {
		theirs  string
		changed bool
	}{
		{`update t set n = 5 where n = -1`, true},
		{`delete from t where n = -1`, true},
		{`update t set n = 5 where n is null`, false}, // another row
		{`insert into t (n) values (1)`, false},
	} {
		d, theirs := open(t, everything...)
		was := dumped(t, d, part...)
		before, err := d.Stamp("", part)
		if err != nil {
			t.Fatal(err)
		}
		do(t, theirs, c.theirs)
		if after, err := d.Stamp("", part); err != nil || (before != after) != c.changed {
			t.Errorf("%s: %v: the stamp %q became %q", c.theirs, err, before, after)
		}
		now := dump.Read(was)
		now.Set(now.Table("t").Rows[0], "n", dump.Value{Kind: dump.Number, Text: "9"})
		if err := d.Apply("", part, was, now.Bytes()); errors.Is(err, format.ErrChanged) != c.changed || err != nil != c.changed {
			t.Errorf("%s: %v", c.theirs, err)
		}
	}
}

// TestMeanwhile: somebody changes a row, or inserts the same key, in a transaction that is open while pawl writes.
func TestMeanwhile(t *testing.T) {
	t.Parallel()
	for _, statement := range []string{`update t set b = false where n = -1`, `insert into t (p) values ('7b1d9a52-0c3e-4f6a-9d21-5e8f00aa1109')`} {
		d, theirs := open(t, everything...)
		was := dumped(t, d, dump.Part{Table: "t"})
		tx, err := theirs.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
		now := dump.Read(was)
		now.Set(now.Table("t").Rows[0], "n", dump.Value{Kind: dump.Number, Text: "9"})
		now.Append(now.Table("t"), []dump.Pair{{Column: "p", Value: dump.TextOf("7b1d9a52-0c3e-4f6a-9d21-5e8f00aa1109")}})
		done := make(chan error)
		go func() { done <- d.Apply("", []dump.Part{{Table: "t"}}, was, now.Bytes()) }()
		waits := 0
		for waits == 0 {
			err := theirs.QueryRowContext(t.Context(), `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`).Scan(&waits)
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		if err := <-done; !errors.Is(err, format.ErrChanged) {
			t.Errorf("%s: %v", statement, err)
		}
	}
}

func TestParts(t *testing.T) {
	t.Parallel()
	d, _ := open(t, "create table t (id integer, p uuid)", "insert into t select n, '7b1d9a52-0c3e-4f6a-9d21-5e8f00aa1102' from generate_series(1, 5) n")
	for _, c := range []struct {
		part dump.Part
		want int
	}{
		{dump.Part{}, 5}, {dump.Part{Column: "p", Value: "7b1d9a52-0c3e-4f6a-9d21-5e8f00aa1102"}, 5}, {dump.Part{Column: "p", Value: "no uuid"}, 0},
		{dump.Part{Column: "id", Value: "3"}, 1}, {dump.Part{Column: "absent", Value: "3"}, 0}, {dump.Part{Column: "p", Value: "7b1d9a52-0c3e-4f6a-9d21-5e8f00aa1102", Newest: 2}, 2},
	} {
		c.part.Table = "t"
		if got := bytes.Count(dumped(t, d, c.part), []byte("INSERT")); got != c.want {
			t.Errorf("%+v: %d rows", c.part, got)
		}
	}
}

// TestUnreachable: the error names no DSN.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	for dsn, want := range map[string]string{"": "PAWL_POSTGRES is not set", "postgres://u:secret@127.0.0.1:1/x": "does not answer", "postgres://u:secret@h:x/x": "invalid DSN"} {
		d := &pgtables.Database{Base: t.Context(), Getenv: func(name string) string { return map[string]string{"PAWL_POSTGRES": dsn, "HOME": t.TempDir()}[name] }}
		if _, err := d.Dump("", nil); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", dsn, err)
		}
	}
}

// TestHear: whoever waits for changes of a project's rows hears what pawl and other programs announce about them, and nothing else.
func TestHear(t *testing.T) {
	t.Parallel()
	const id = "6f1cf0a2-9c1d-4b0e-8a52-0b6f6a0f1c11"
	ours, theirs := open(t, `create table rows (p uuid, n integer)`, `insert into rows values ('`+id+`', 1)`)
	ours.Notices = new(postgres.Notices)
	t.Cleanup(ours.Notices.Close)
	other := &pgtables.Database{Base: ours.Base, Getenv: ours.Getenv, Notices: new(postgres.Notices)}
	t.Cleanup(func() { other.Close() })
	parts := []dump.Part{{Table: "rows", Column: "p", Value: id}}
	heard, stop := ours.Hear(t.TempDir(), parts)
	defer stop()
	wait := func(what string) {
		t.Helper()
		select {
		case <-heard:
		case <-time.After(time.Minute):
			t.Fatalf("%s: not heard", what)
		}
	}
	wait("the connection is there")
	was := dumped(t, other, parts...)
	apply := func(d *pgtables.Database, now []byte) {
		t.Helper()
		if err := d.Apply(t.TempDir(), parts, was, now); err != nil {
			t.Fatal(err)
		}
		was = dumped(t, d, parts...)
	}
	apply(other, bytes.Replace(was, []byte(", 1)"), []byte(", 2)"), 1))
	wait("a change of another pawl")
	apply(ours, bytes.Replace(was, []byte(", 2)"), []byte(", 3)"), 1))
	apply(other, was) // nothing
	do(t, theirs, `notify pawl, 'another project'`, `notify pawl, '`+id+`'`)
	wait("a NOTIFY")
	select {
	case <-heard:
		t.Error("heard too much")
	case <-time.After(100 * time.Millisecond):
	}
}
