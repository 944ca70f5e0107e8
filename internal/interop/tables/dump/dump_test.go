package dump_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl/internal/interop/tables/dump"
)

// postgres is what pg_dump writes, shortened.
const postgres = `--
-- PostgreSQL database dump
--

\restrict x

SET standard_conforming_strings = on;

CREATE FUNCTION public.f() RETURNS trigger AS $$ begin; INSERT INTO t VALUES (1); end; $$ LANGUAGE plpgsql;

CREATE TABLE public.t (
    id integer NOT NULL,
    name character varying(100) DEFAULT 'a;b'::character varying,
    "Meta" jsonb,
    CONSTRAINT c CHECK (((name)::text = ANY (ARRAY['a'::text, 'b'::text])))
);

COPY public.t (id, name, "Meta") FROM stdin;
1	a\tb	{"x": "c:\\\\d"}
2	\N	\N
\.

SELECT pg_catalog.setval('public.t_id_seq', 2, true);

ALTER TABLE ONLY public.t
    ADD CONSTRAINT t_pkey PRIMARY KEY (id);
CREATE UNIQUE INDEX u ON public.t USING btree (name);
CREATE UNIQUE INDEX half ON public.t USING btree ("Meta") WHERE (id > 1);
`

// lite is what sqlite3 writes.
const lite = `PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE t (
	id INTEGER, -- the id
	name TEXT UNIQUE, "Meta" JSON,
	PRIMARY KEY (id)
);
INSERT INTO t VALUES(1,'it''s','{"a": 1}');
INSERT INTO t VALUES(2,replace('two\nlines','\n',char(10)),NULL);
INSERT INTO t VALUES(-3,unistr('two\u000alines'),X'00ff');
CREATE TRIGGER g AFTER INSERT ON t BEGIN UPDATE t SET name = CASE WHEN 1 THEN 'x;' END; DELETE FROM t; END;
COMMIT;
`

func rows(d *dump.Dump, table string) [][]dump.Value {
	var all [][]dump.Value
	for _, r := range d.Table(table).Rows {
		var row []dump.Value
		for _, c := range r.Cells {
			row = append(row, c.Value)
		}
		all = append(all, row)
	}
	return all
}

func text(s string) dump.Value   { return dump.TextOf(s) }
func number(s string) dump.Value { return dump.Value{Kind: dump.Number, Text: s} }

func TestReadPostgres(t *testing.T) {
	t.Parallel()
	d := dump.Read([]byte(postgres))
	want := [][]dump.Value{{text("1"), text("a\tb"), text(`{"x": "c:\\d"}`)}, {text("2"), {}, {}}}
	if diff := cmp.Diff(want, rows(d, "t")); diff != "" || len(d.Problems) > 0 || len(d.Tables) != 1 {
		t.Errorf("%s%v %d", diff, d.Problems, len(d.Tables))
	}
	table := d.Table("t")
	if !table.Unique("id") || !table.Unique("name") || table.Unique("meta") || table.Rows[1].Line != 20 {
		t.Errorf("keys %v, line %d", table.Keys, table.Rows[1].Line)
	}
	if diff := cmp.Diff([]string{"id", "name", "meta"}, table.Columns); diff != "" {
		t.Error(diff)
	}
}

func TestReadSQLite(t *testing.T) {
	t.Parallel()
	d := dump.Read([]byte(lite))
	want := [][]dump.Value{
		{number("1"), text("it's"), text(`{"a": 1}`)}, {number("2"), text("two\nlines"), {}},
		{number("-3"), text("two\nlines"), {Kind: dump.Blob, Text: "00ff"}},
	}
	if diff := cmp.Diff(want, rows(d, "t")); diff != "" || len(d.Problems) > 0 {
		t.Errorf("%s%v", diff, d.Problems)
	}
}

// One value is changed, one row added, and nothing else.
func TestSplice(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, set, add string }{
		"COPY": {postgres, "2\tb\\\\c\\nd'e\t\\N\n", "d'e\t\\N\n7\tx\t\\N\n\\.\n"},
		"sqlite": {lite, "INSERT INTO t VALUES(2,'b\\c\nd''e',NULL);\n",
			"X'00ff');\nINSERT INTO t (id, name) VALUES('7','x');\nCREATE TRIGGER"},
		"pg inserts": {"CREATE TABLE t (id int, name text);\r\nINSERT INTO public.t (id, name) VALUES (1, 'x'::text);\r\nINSERT INTO public.t (id, name) VALUES (2, E'\\\\'::text);\r\n",
			"VALUES (2, E'b\\\\c\nd''e'::text);\r\n", "::text);\r\nINSERT INTO public.t (id, name) VALUES ('7', 'x');\r\n"},
		"several": {"INSERT INTO t (id, name) VALUES (1, 'x'),\n  (2, NULL) ON CONFLICT DO NOTHING;\n", "  (2, 'b\\c\nd''e') ON CONFLICT DO NOTHING;\n",
			"NOTHING;\nINSERT INTO t (id, name) VALUES ('7', 'x');\n"},
		"left out": {"INSERT INTO t (id, name) VALUES (1, 'x');INSERT INTO t (id) VALUES (2)", "INSERT INTO t (id, name) VALUES (2, 'b\\c\nd''e')",
			");\nINSERT INTO t (id, name) VALUES ('7', 'x');"},
	} {
		d := dump.Read([]byte(c.text))
		if string(d.Bytes()) != c.text {
			t.Errorf("%s: it changed by reading", name)
		}
		table := d.Table("t")
		v, _ := table.Rows[0].Get("name")
		d.Set(table.Rows[0], "name", v)
		if !d.Set(table.Rows[1], "name", text("b\\c\nd'e")) || !d.Append(table, []dump.Pair{{Column: "id", Value: text("7")}, {Column: "name", Value: text("x")}}) {
			t.Errorf("%s: not written", name)
		}
		out := string(d.Bytes())
		if !strings.Contains(out, c.set) || !strings.Contains(out, c.add) {
			t.Errorf("%s:\n%s", name, out)
		}
		again := dump.Read([]byte(out))
		if v, _ := again.Table("t").Rows[1].Get("name"); v != text("b\\c\nd'e") {
			t.Errorf("%s: read back %q", name, v.Text)
		}
		if got, _ := again.Table("t").Rows[len(table.Rows)].Get("name"); got != text("x") {
			t.Errorf("%s: read back %q", name, got.Text)
		}
	}
}

// A statement that cannot be read is reported with its line; everything before it counts.
func TestProblems(t *testing.T) {
	t.Parallel()
	for sql, want := range map[string]string{
		"INSERT INTO t (a) VALUES (1);\nINSERT INTO t (a) VALUES ('x":              "line 2: unterminated string: the rest of the file was not read",
		"INSERT INTO t (a) VALUES (1);\nINSERT INTO t (a) VALUES (1, 2);":          "line 2: a row of t has 2 values for 1 columns; it is skipped",
		"INSERT INTO t (a) VALUES (1);\nINSERT INTO t (a) VALUES (1":               "line 2: the last statement is incomplete",
		"INSERT INTO t (a) VALUES (1);\nUPDATE t SET a = 2;":                       "line 2: UPDATE changes rows, and pawl does not execute it",
		"INSERT INTO t (a) VALUES (1);\nINSERT INTO t (a) SELECT 1;":               "line 2: rows without VALUES are not read",
		"INSERT INTO t (a) VALUES (1);\nCOPY t (a) FROM stdin;\n2\n":               "line 2: the rows of a COPY are incomplete",
		"INSERT INTO t (a) VALUES (1);\nCOPY t (a) FROM stdin WITH csv;\n2\n\\.\n": "line 2: COPY with options is not read",
		"INSERT INTO t (a) VALUES (1);\n/* x":                                      "line 2: unterminated comment: the rest of the file was not read",
	} {
		d := dump.Read([]byte(sql))
		if len(d.Problems) == 0 || "line "+string(rune('0'+d.Problems[0].Line))+": "+d.Problems[0].Why != want {
			t.Errorf("%q: %v, want %s", sql, d.Problems, want)
		}
		if tt := d.Table("t"); tt == nil || len(tt.Rows) == 0 {
			t.Errorf("%q: nothing was read", sql)
		}
	}
	if d := dump.Read([]byte("\xff\xfeI\x00")); len(d.Problems) != 1 {
		t.Error("UTF-16")
	}
}

// However a text is made, it is read in a moment: reading takes time by its length alone.
func TestNothingTakesLong(t *testing.T) {
	t.Parallel()
	var tables strings.Builder
	for i := range 60_000 {
		fmt.Fprintf(&tables, "CREATE TABLE t%d (a);\n", i)
	}
	for name, sql := range map[string]string{
		"brackets": "INSERT INTO t VALUES (1); " + strings.Repeat("[", 1<<20),
		"calls":    "INSERT INTO t VALUES (" + strings.Repeat("replace(", 50_000) + "'a'" + strings.Repeat(",'b','c')", 50_000) + ");",
		"tables":   tables.String(),
		"triggers": "CREATE TRIGGER g (" + strings.Repeat(" a", 60_000) + " BEGIN " + strings.Repeat("x;", 60_000),
	} {
		read := make(chan struct{})
		go func() {
			dump.Read([]byte(sql))
			close(read)
		}()
		select {
		case <-read:
		case <-time.After(time.Minute):
			t.Errorf("%s: it takes more than a minute", name)
		}
	}
}

// Names in brackets are names, brackets that are not closed in time are none, also where one is open already.
func TestBrackets(t *testing.T) {
	t.Parallel()
	d := dump.Read([]byte("INSERT INTO [a b] ([c[d], e) VALUES (1, 2);\nINSERT INTO t (a, b) VALUES ([[x, 1);\nINSERT INTO [u] (f) VALUES ('[');"))
	if len(d.Tables) != 3 || d.Table("a b") == nil || d.Table("u") == nil || len(d.Problems) > 0 {
		t.Fatalf("%+v %v", d.Tables, d.Problems)
	}
	if diff := cmp.Diff([]string{"c[d", "e"}, d.Table("a b").Columns); diff != "" {
		t.Error(diff)
	}
}

// Calls in each other are worked out as deep as anybody writes them.
func TestDeepCalls(t *testing.T) {
	t.Parallel()
	for deep, want := range map[int]dump.Kind{1: dump.Text, 8: dump.Text, 9: dump.Expression} {
		d := dump.Read([]byte("INSERT INTO t (a) VALUES (" + strings.Repeat("replace(", deep) + "'a'" + strings.Repeat(",'a','b')", deep) + ");"))
		if got := d.Table("t").Rows[0].Cells[0].Kind; got != want {
			t.Errorf("%d deep: %d", deep, got)
		}
	}
}

// What is cast to a type says what it says without; what is made of more than one value is left to a database.
func TestCasts(t *testing.T) {
	t.Parallel()
	for sql, want := range map[string]dump.Value{
		"'a'::character varying(9)": text("a"), `'a'::"Of"."Mine"[]::text`: text("a"), "1::bigint": number("1"),
		"'2026-01-02'::timestamp(6) with time zone": text("2026-01-02"),
		"CAST('a' AS varchar(100))":                 text("a"), "cast(CAST('a' AS text) AS \"mine\")": text("a"), "CAST(1 AS bigint)": number("1"), "CAST(NULL AS uuid)": {},
		"TIMESTAMP '2026-01-02'": text("2026-01-02"), "timestamp with time zone '2026-01-02'": text("2026-01-02"), "UUID 'a'": text("a"),
		"CAST(now() AS date)":   {Kind: dump.Expression, Text: "CAST(now() AS date)"},
		"INTERVAL '1 day'":      {Kind: dump.Expression, Text: "INTERVAL '1 day'"},
		"CAST('a' || 'b' AS t)": {Kind: dump.Expression, Text: "CAST('a' || 'b' AS t)"},
		"'a'::text || 'b'":      {Kind: dump.Expression, Text: "'a'::text || 'b'"},
		"((now()::date))":       {Kind: dump.Expression, Text: "((now()::date))"},
	} {
		d := dump.Read([]byte("INSERT INTO t (a) VALUES (" + sql + ");"))
		if got := d.Table("t").Rows[0].Cells[0].Value; got != want {
			t.Errorf("%s: %+v", sql, got)
		}
	}
}

// mysql is what mysqldump writes, shortened.
const mysql = "-- MySQL dump 10.13  Distrib 8.0.36\n/*!40101 SET NAMES utf8mb4 */;\n# a comment; it's one\nDROP TABLE IF EXISTS `t`;\n" +
	"CREATE TABLE `t` (\n  `id` int NOT NULL AUTO_INCREMENT, # the id\n  `name` varchar(100) DEFAULT 'it\\'s',\n  `meta` json,\n  PRIMARY KEY (`id`),\n" +
	"  UNIQUE KEY `u` (`name`),\n  KEY `k` (`meta`)\n) ENGINE=InnoDB;\nLOCK TABLES `t` WRITE;\n" +
	"INSERT INTO `t` VALUES (1,'it\\'s \\\"half\\\"\\nc:\\\\x\\f\\%','{\\\"k\\\": 1}'),(2,'b',NULL);\nUNLOCK TABLES;\n"

// TestMySQL: backslashes are escapes in all its strings, read and written; # begins a comment.
func TestMySQL(t *testing.T) {
	t.Parallel()
	d := dump.Read([]byte(mysql))
	want := [][]dump.Value{{number("1"), text("it's \"half\"\nc:\\xf\\%"), text(`{"k": 1}`)}, {number("2"), text("b"), {}}}
	if len(d.Problems) > 0 || d.Table("t") == nil {
		t.Fatal(d.Problems)
	}
	if diff := cmp.Diff(want, rows(d, "t")); diff != "" {
		t.Error(diff)
	}
	table := d.Table("t")
	if diff := cmp.Diff([]string{"id", "name", "meta"}, table.Columns); diff != "" || !table.Unique("id") || !table.Unique("name") || table.Unique("meta") {
		t.Errorf("%s %v", diff, table.Keys)
	}
	d.Set(table.Rows[1], "name", text(`it's c:\'d`))
	d.Append(table, []dump.Pair{{Column: "id", Value: number("3")}, {Column: "name", Value: text(`\`)}})
	out := string(d.Bytes())
	if !strings.Contains(out, `(2,'it''s c:\\''d',NULL)`) || !strings.Contains(out, "(id, name) VALUES (3,'\\\\');") {
		t.Error(out)
	}
	again := rows(dump.Read([]byte(out)), "t")
	if len(again) != 3 || again[1][1] != text(`it's c:\'d`) || again[2][1] != text(`\`) {
		t.Errorf("%+v", again)
	}
	d = dump.Read([]byte("CREATE TABLE t (\n# the id\nid int, key varchar(9));\nINSERT INTO t VALUES (1, 'c:\\');\n"))
	if len(d.Problems) > 0 || d.Table("t").Rows[0].Cells[1].Text != `c:\` {
		t.Errorf("of no MySQL: %v", d.Problems)
	}
}

// Of many problems only the first are reported, but always that the text is truncated.
func TestManyProblems(t *testing.T) {
	t.Parallel()
	const update, cut = "UPDATE t SET a = 1;\n", "INSERT INTO t (a) VALUES (1;\n"
	for sql, want := range map[string]int{strings.Repeat(cut, 1000): 50, "INSERT INTO t (a) VALUES (0);" + strings.Repeat(update, 1000) + strings.Repeat(cut, 1000): 51} {
		d := dump.Read([]byte(sql))
		if len(d.Problems) != want || !d.Problems[want-1].Cut {
			t.Errorf("%d problems, want %d", len(d.Problems), want)
		}
	}
}

// TestWhatChangesRowsIsTold: rows that something else than their INSERT makes what they are are told with its line, and where
// there are none before it changes nothing.
func TestWhatChangesRowsIsTold(t *testing.T) {
	t.Parallel()
	const made, row = "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT);\n", "INSERT INTO t (a, b) VALUES (1, 'x');\n"
	for _, sql := range []string{
		"UPDATE t SET b = 'y';", "UPDATE OR IGNORE t SET b = 'y';", "DELETE FROM t WHERE a = 1;", "TRUNCATE TABLE ONLY t;", "TRUNCATE other, public.t;",
		"DROP TABLE IF EXISTS t;", "ALTER TABLE t RENAME TO old;", "ALTER TABLE new RENAME TO t;", "ALTER TABLE t DROP COLUMN b;", "ROLLBACK;",
		"WITH x AS (SELECT 1) DELETE FROM t;", "MERGE INTO t USING u ON t.a = u.a WHEN MATCHED THEN DELETE;", "LOAD DATA INFILE 'x' INTO TABLE t;",
		"INSERT INTO t SELECT 2, 'y';", "INSERT INTO t SET a = 2;", "INSERT INTO t DEFAULT VALUES;", "INSERT INTO t VALUES (2, 'y') UNION SELECT 3, 'z';",
		"INSERT INTO t VALUES (2);", "COPY t FROM stdin WITH (FORMAT csv);\n2,y\n\\.\n",
		"INSERT INTO t VALUES (1, 'y') ON CONFLICT (a) DO UPDATE SET b = t.b || EXCLUDED.b;", "INSERT INTO t VALUES (1, 'y') ON CONFLICT (a) DO UPDATE SET b = 'z' WHERE b = 'x';",
		"INSERT INTO t VALUES (1, 'y'), (2, 'z') ON CONFLICT (a) DO UPDATE SET b = 'w';", "INSERT INTO t VALUES (1, 'y') ON CONFLICT (a) DO UPDATE SET a = 2;",
	} {
		if d := dump.Read([]byte(made+row+sql), "t"); len(d.Problems) != 1 || !d.Problems[0].Unsure || d.Problems[0].Line != 3 {
			t.Errorf("%s: %+v", sql, d.Problems)
		}
		if d := dump.Read([]byte(made+row+sql), "v"); len(d.Problems) != 0 {
			t.Errorf("%s of another table: %+v", sql, d.Problems)
		}
	}
	for _, sql := range []string{
		"DROP TABLE IF EXISTS t;\n" + made + row, made + "DELETE FROM t;\n" + row, made + "UPDATE t SET b = 'y';\n", "TRUNCATE t;\n" + row,
		made + row + "UPDATE other SET b = 'y';", made + row + "ALTER TABLE t ADD COLUMN c TEXT;\nINSERT INTO t VALUES (2, 'y', 'z');",
		made + row + "INSERT INTO t VALUES (2, 'y') ON CONFLICT (a) DO UPDATE SET b = t.b || EXCLUDED.b;", made + row + "ALTER TABLE t DROP CONSTRAINT c;",
		"BEGIN;\n" + made + row + "COMMIT;",
	} {
		d := dump.Read([]byte(sql))
		if len(d.Problems) != 0 {
			t.Errorf("%s: %+v", sql, d.Problems)
		}
	}
	d := dump.Read([]byte(made + "DELETE FROM t;\n"))
	if d.Append(d.Table("t"), []dump.Pair{{Column: "a", Value: number("9")}}); !strings.HasSuffix(string(d.Bytes()), "DELETE FROM t;\nINSERT INTO t (a) VALUES (9);\n") {
		t.Errorf("a row is added in front of what takes it away: %s", d.Bytes())
	}
}

// FuzzRead reads any text, and changes what it read. Nothing panics; unchanged it stays as it is; what was changed is read
// back, and the other rows say what they said.
func FuzzRead(f *testing.F) {
	f.Add([]byte(postgres), "x")
	f.Add([]byte(mysql), "it's \\")
	f.Add([]byte(lite), "a\\b\t'c'\n")
	f.Add([]byte("INSERT INTO t (a, b) VALUES (1, now()), (E'\\'', $$x$$);"), "")
	f.Fuzz(func(t *testing.T, data []byte, value string) {
		for _, word := range []string{"conflict", "duplicate", "ignore", "replace"} {
			if strings.Contains(strings.ReplaceAll(strings.ToLower(string(data)), "replace(", ""), word) {
				t.Skip("a row may give way to one that is changed")
			}
		}
		d := dump.Read(data)
		if string(d.Bytes()) != string(data) {
			t.Fatal("it changed by reading")
		}
		for n, table := range d.Tables {
			for i, row := range table.Rows {
				if len(row.Cells) == 0 {
					continue
				}
				value = strings.ReplaceAll(value, "\x00", "")
				d.Set(row, row.Cells[0].Column, dump.TextOf(value))
				again := dump.Read(d.Bytes())
				if len(again.Tables) <= n || len(again.Tables[n].Rows) != len(table.Rows) {
					t.Fatalf("rows were lost: %q", d.Bytes())
				}
				if got := again.Tables[n].Rows[i].Cells[0].Value; got != row.Cells[0].Value {
					t.Fatalf("%q was read back as %q of %q", value, got.Text, d.Bytes())
				}
				return
			}
		}
	})
}

// TestRowsOfOthersArePassedOver: of tables that are not named no row is kept, however it is written, and all else is the same.
func TestRowsOfOthersArePassedOver(t *testing.T) {
	t.Parallel()
	const sql = "INSERT INTO t (a) VALUES (1);\nINSERT INTO x (a, b) VALUES ('values (', 2), (3, 4);\nINSERT OR IGNORE INTO \"X\" VALUES (5);\n" +
		"COPY public.x (a) FROM stdin;\n6\n\\.\nINSERT INTO public.t (a) VALUES (7);\nINSERT INTO x (a) VALUES (8, "
	d := dump.Read([]byte(sql), "t")
	if got := d.Table("t"); len(got.Rows) != 2 || got.Rows[1].Line != 7 {
		t.Errorf("%+v", got)
	}
	if got := d.Table("x"); len(got.Rows) != 0 {
		t.Errorf("%+v", got.Rows)
	}
	if len(d.Problems) != 1 || !d.Problems[0].Cut || d.Problems[0].Line != 8 {
		t.Errorf("%+v", d.Problems)
	}
}

// A text with several databases has a table of each, and a change of one leaves the others as they are.
func TestDatabasesAreKeptApart(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"\\connect a\nCREATE TABLE t (x int);\nINSERT INTO t VALUES (1);\n\\connect b\nCREATE TABLE t (x int);\nINSERT INTO t VALUES (2);\n",
		"USE `a`;\nCREATE TABLE t (x int);\nINSERT INTO t VALUES (1);\nUSE `b`;\nCREATE TABLE t (x int);\nINSERT INTO t VALUES (2);\n",
	} {
		all := dump.Read([]byte(text)).Databases()
		if len(all) != 2 || all[0].Database != "a" || all[1].Database != "b" {
			t.Fatalf("%q: %d databases", text, len(all))
		}
		for i, d := range all {
			rows := d.Table("t").Rows
			if v, _ := rows[0].Get("x"); len(rows) != 1 || v.Text != string(rune('1'+i)) {
				t.Errorf("%s: %d rows, first %v", d.Database, len(rows), v)
			}
		}
		all[1].Set(all[1].Table("t").Rows[0], "x", dump.Value{Kind: dump.Number, Text: "3"})
		if got, want := string(all[1].Bytes()), strings.Replace(text, "(2)", "(3)", 1); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// An archive of pg_dump is not searched for SQL.
func TestArchives(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"PGDMP\x01CREATE TABLE t (x int);", strings.Repeat("\x00", 512) + "PGDMP"} {
		if d := dump.Read([]byte(text)); len(d.Tables) > 0 || len(d.Problems) != 1 || !d.Problems[0].Cut {
			t.Errorf("%d tables, %v", len(d.Tables), d.Problems)
		}
	}
}
