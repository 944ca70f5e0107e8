package sqlite_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/interop/tables/dump"
	"pawl/internal/interop/tables/sqlite"
)

// made makes a database by SQLite itself, and leaves it open: others may have it open too.
func made(t *testing.T, statements ...string) (path string, db *sql.DB) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "a?b %41.db")
	db, err := sql.Open("sqlite3", "file:"+strings.NewReplacer("?", "%3f", "%", "%25", " ", "%20").Replace(path)+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	db.SetMaxOpenConns(1)
	run(t, db, statements...)
	return path, db
}

func run(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatal(err)
		}
	}
}

func dumped(t *testing.T, path string) string {
	t.Helper()
	text, err := sqlite.Dump(path, []dump.Part{{Table: "t"}, {Table: "u"}, {Table: "absent"}})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

const table = `CREATE TABLE T (id INTEGER PRIMARY KEY, "a b" TEXT, j JSON, r REAL, x BLOB, at DATETIME)`

// Every type of value is written as SQLite writes it, is changed, and the others stay as they are, also by type.
func TestValues(t *testing.T) {
	t.Parallel()
	path, db := made(t, table, "CREATE UNIQUE INDEX once ON t (j)", "CREATE TABLE other (secret)", "INSERT INTO other VALUES ('s')",
		`INSERT INTO t VALUES (1, 'it''s ; é
x', '{"a": 1}', 0.1, X'00ff', '2026-02-28 10:00:00.000001'), (2, '5', NULL, 1e300, NULL, 5), (9223372036854775807, '', '[]', -1, '5', NULL)`)
	was := dumped(t, path)
	if !strings.Contains(was, "VALUES(1,'it''s ; é\nx','{\"a\": 1}',0.1,X'00FF','2026-02-28 10:00:00.000001');") || strings.Contains(was, "secret") ||
		!strings.Contains(was, "CREATE UNIQUE INDEX once") {
		t.Error(was)
	}
	now := strings.Replace(was, "'{\"a\": 1}'", "'{\"a\": 2}'", 1)
	now = strings.Replace(now, "VALUES(2,'5',NULL,", "VALUES(2,'six',X'0102',", 1)
	now += "INSERT INTO T (id, \"a b\") VALUES(3, 'new');\nCREATE TABLE u (a);\nINSERT INTO u VALUES(NULL);\n"
	if err := sqlite.Apply(path, nil, []byte(was), []byte(now)); err != nil {
		t.Fatal(err)
	}
	var types string
	if err := db.QueryRow(`SELECT group_concat(typeof("a b") || typeof(j) || typeof(r) || typeof(x) || typeof(at), ' ') FROM (SELECT * FROM t ORDER BY id)`).Scan(&types); err != nil {
		t.Fatal(err)
	}
	if want := "texttextrealblobtext textblobrealnullinteger textnullnullnullnull texttextrealtextnull"; types != want {
		t.Errorf("types %s, want %s", types, want)
	}
	want := changed(was, "{\"a\": 1}", "{\"a\": 2}", "VALUES(2,'5',NULL,", "VALUES(2,'six',X'0102',",
		"INSERT INTO \"t\" VALUES(9", "INSERT INTO \"t\" VALUES(3,'new',NULL,NULL,NULL,NULL);\nINSERT INTO \"t\" VALUES(9") + "CREATE TABLE u (a);\nINSERT INTO \"u\" VALUES(NULL);\n"
	if diff := cmp.Diff(want, dumped(t, path)); diff != "" {
		t.Error(diff)
	}
}

func changed(text string, pairs ...string) string { return strings.NewReplacer(pairs...).Replace(text) }

// What stands in the log beside a database counts, reading changes neither, and a database that is written to stays the one
// that others have open.
func TestOthersHaveItOpen(t *testing.T) {
	t.Parallel()
	path, db := made(t, "PRAGMA journal_mode=WAL", table, "INSERT INTO t (id, j) VALUES (1, 'a')")
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	was := dumped(t, path)
	if !strings.Contains(was, "VALUES(1,NULL,'a'") || strings.Contains(string(before), "VALUES") {
		t.Errorf("the log was not read: %s", was)
	}
	after, err := os.ReadFile(path)
	if err != nil || string(before) != string(after) {
		t.Errorf("reading changed the database: %v", err)
	}
	if err := sqlite.Apply(path, nil, []byte(was), []byte(strings.Replace(was, "'a'", "'b'", 1))); err != nil {
		t.Fatal(err)
	}
	var j string
	if err := db.QueryRow("SELECT j FROM t").Scan(&j); err != nil || j != "b" {
		t.Errorf("who has it open sees %q, %v", j, err)
	}
	run(t, db, "UPDATE t SET j = 'c'")
	if got := dumped(t, path); !strings.Contains(got, "'c'") {
		t.Error(got)
	}
}

// A log that a dead program left behind counts too, and stays.
func TestALogIsLeftBehind(t *testing.T) {
	t.Parallel()
	path, _ := made(t, "PRAGMA journal_mode=WAL", table, "INSERT INTO t (id, j) VALUES (1, 'a')")
	copied := filepath.Join(t.TempDir(), "copy.db")
	for _, suffix := range []string{"", "-wal"} {
		data, err := os.ReadFile(path + suffix)
		if err == nil {
			err = os.WriteFile(copied+suffix, data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	was := dumped(t, copied)
	if !strings.Contains(was, "'a'") {
		t.Errorf("the log was not read: %s", was)
	}
	if now, err := os.ReadFile(copied + "-wal"); err != nil || len(now) == 0 {
		t.Errorf("reading took the log away: %v", err)
	}
	if err := sqlite.Apply(copied, nil, []byte(was), []byte(strings.Replace(was, "'a'", "'b'", 1))); err != nil {
		t.Fatal(err)
	}
	if got := dumped(t, copied); !strings.Contains(got, "'b'") {
		t.Error(got)
	}
}

// A change that was cut off by a death, and whose log is left behind, is taken back first: it was none.
func TestAChangeWasCutOff(t *testing.T) {
	t.Parallel()
	path, db := made(t, "PRAGMA journal_mode=DELETE", "PRAGMA cache_size=1", table, "INSERT INTO t (id, j) VALUES (1, 'a')",
		"BEGIN", "UPDATE t SET j = 'b'", "WITH RECURSIVE i(n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM i WHERE n < 9999) INSERT INTO t (id, j) SELECT n, 'b' FROM i")
	left := filepath.Join(t.TempDir(), "left.db")
	for _, suffix := range []string{"", "-journal"} {
		data, err := os.ReadFile(path + suffix)
		if err == nil {
			err = os.WriteFile(left+suffix, data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	run(t, db, "ROLLBACK")
	was := dumped(t, left)
	if strings.Contains(was, "'b'") || !strings.Contains(was, "VALUES(1,NULL,'a'") {
		t.Errorf("%.300s", was)
	}
	if err := sqlite.Apply(left, nil, []byte(was), []byte(strings.Replace(was, "'a'", "'c'", 1))); err != nil {
		t.Error(err)
	}
}

// A row that somebody else changed since it was read is not written, nor is anything else then.
func TestSomebodyElseWasFaster(t *testing.T) {
	t.Parallel()
	path, db := made(t, table, "INSERT INTO t (id, j) VALUES (1, 'a'), (2, 'a')")
	was := dumped(t, path)
	run(t, db, "UPDATE t SET r = 1 WHERE id = 2")
	theirs := dumped(t, path)
	err := sqlite.Apply(path, nil, []byte(was), []byte(strings.ReplaceAll(was, "'a'", "'b'")))
	if !errors.Is(err, format.ErrChanged) {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff(theirs, dumped(t, path)); diff != "" {
		t.Error(diff)
	}
}

// If another program inserted, deleted or created anything since the tables were read, nothing is written.
func TestSomebodyElseWasFasterWithRows(t *testing.T) {
	t.Parallel()
	row := "INSERT INTO t VALUES (1, 'mine')"
	for name, c := range map[string]struct{ made, theirs, mine string }{
		"key":     {"CREATE TABLE t (n PRIMARY KEY, s)", "INSERT INTO t VALUES (1, 'theirs')", row},
		"no key":  {"CREATE TABLE t (n, s)", "INSERT INTO t VALUES (1, 'theirs')", row},
		"deleted": {"CREATE TABLE t (n, s)", "DELETE FROM t", row},
		"table":   {"CREATE TABLE t (n, s)", "CREATE TABLE u (a)", "CREATE TABLE u (b)"},
		"column":  {"CREATE TABLE t (n, s)", "ALTER TABLE t ADD COLUMN b DEFAULT 'x'", row},
	} {
		path, db := made(t, c.made, "INSERT INTO t VALUES (0, 'first')")
		was := dumped(t, path)
		run(t, db, c.theirs)
		theirs := dumped(t, path)
		if err := sqlite.Apply(path, nil, []byte(was), []byte(was+c.mine+";\n")); !errors.Is(err, format.ErrChanged) {
			t.Errorf("%s: got %v", name, err)
		}
		if diff := cmp.Diff(theirs, dumped(t, path)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// A table that has a string for its name, as SQLite takes it, and no rows, is no change of somebody else's.
func TestANameIsAString(t *testing.T) {
	t.Parallel()
	path, _ := made(t, "CREATE TABLE t (n)", "CREATE TABLE 'u' (a)")
	was := dumped(t, path)
	if err := sqlite.Apply(path, nil, []byte(was), []byte(was+"INSERT INTO t VALUES (1);\nINSERT INTO u VALUES (2);\n")); err != nil {
		t.Error(err)
	}
	if got := dumped(t, path); !strings.Contains(got, "\"t\" VALUES(1)") || !strings.Contains(got, "\"u\" VALUES(2)") {
		t.Error(got)
	}
}

// Texts with zero bytes are read whole, stay as they are, and do not keep others of their row from being changed.
func TestZeroBytes(t *testing.T) {
	t.Parallel()
	path, db := made(t, "CREATE TABLE t (n, s TEXT, x TEXT)", `INSERT INTO t VALUES (1, 'it''s\' || char(0) || 'b', 'c'), (2, char(0), 'c')`)
	was := dumped(t, path)
	if err := sqlite.Apply(path, nil, []byte(was), []byte(strings.Replace(was, ",'c')", ",'d')", 1))); err != nil {
		t.Fatal(err)
	}
	var got string
	if err := db.QueryRow("SELECT group_concat(typeof(s) || hex(s) || x, ' ') FROM t").Scan(&got); err != nil || got != "text697427735C0062d text00c" {
		t.Errorf("%s, %v", got, err)
	}
	v, _ := dump.Read([]byte(was)).Table("t").Rows[0].Get("s")
	if v != dump.TextOf("it's\\\x00b") {
		t.Errorf("it is read as %q", v.Text)
	}
}

// Of rows that nothing tells apart, none is changed.
func TestRowsThatAreTheSame(t *testing.T) {
	t.Parallel()
	path, _ := made(t, "CREATE TABLE t (n)", "INSERT INTO t VALUES (1), (1)")
	was := dumped(t, path)
	err := sqlite.Apply(path, nil, []byte(was), []byte(strings.Replace(was, "(1)", "(2)", 1)))
	if err == nil || errors.Is(err, format.ErrChanged) || !strings.Contains(err.Error(), "2 rows") {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff(was, dumped(t, path)); diff != "" {
		t.Error(diff)
	}
}

// Tables that are too large are read until they are, and not to their end: a small file can have a gigabyte of default values.
// It is not parallel: others would be counted too.
func TestTooLarge(t *testing.T) {
	path, _ := made(t, "CREATE TABLE t (n)", "WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < 1000) INSERT INTO t SELECT n FROM i",
		"ALTER TABLE t ADD COLUMN s DEFAULT '"+strings.Repeat("x", 1<<20)+"'")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := sqlite.Dump(path, []dump.Part{{Table: "t"}}); err == nil || !strings.Contains(err.Error(), "larger than 64 MiB") {
		t.Errorf("got %v", err)
	}
	runtime.ReadMemStats(&after)
	if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 1000 {
		t.Errorf("it took %d MiB", took)
	}
}

// Two that write at once wait for each other, and each either wrote or knows that it did not.
func TestWritersWait(t *testing.T) {
	t.Parallel()
	path, _ := made(t, "PRAGMA journal_mode=WAL", "CREATE TABLE t (n INTEGER)", "INSERT INTO t VALUES (0)")
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for wrote := 0; wrote < 10; {
				was := dumped(t, path)
				_, n, _ := strings.Cut(was, "VALUES(")
				n, _, _ = strings.Cut(n, ")")
				switch err := sqlite.Apply(path, nil, []byte(was), []byte(strings.Replace(was, "("+n+")", "("+next(n)+")", 1))); {
				case err == nil:
					wrote++
				case !errors.Is(err, format.ErrChanged):
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if got := dumped(t, path); !strings.Contains(got, "(40)") {
		t.Error(got)
	}
}

// next returns the number behind one.
func next(n string) string {
	digits := []byte("0" + n)
	for i := len(digits) - 1; ; i-- {
		if digits[i]++; digits[i] <= '9' {
			return strings.TrimLeft(string(digits), "0")
		}
		digits[i] = '0'
	}
}

// A file that is not a database is reported; an empty file counts as one by its name; links next to a database are not followed.
func TestOddFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, data := range map[string]string{"text.db": "-- SQL", "empty.db": "", "empty.sql": "", "broken.db": "SQLite format 3\x00rest", "linked.db": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]bool{"text.db": false, "empty.db": true, "empty.sql": false, "broken.db": true, "absent.db": false} {
		if got := sqlite.Is(filepath.Join(dir, name)); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if _, err := sqlite.Dump(filepath.Join(dir, "broken.db"), []dump.Part{{Table: "t"}}); err == nil {
		t.Error("a broken database was read")
	}
	if got := dumped(t, filepath.Join(dir, "empty.db")); got != "" {
		t.Error(got)
	}
	if err := os.Symlink(filepath.Join(dir, "text.db"), filepath.Join(dir, "linked.db-journal")); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Dump(filepath.Join(dir, "linked.db"), []dump.Part{{Table: "t"}}); err == nil {
		t.Error("a link beside a database was followed")
	}
	if _, err := sqlite.Dump(filepath.Join(dir, "absent.db"), []dump.Part{{Table: "t"}}); err == nil {
		t.Error("a database was read that is not there")
	}
	if err := sqlite.Apply(filepath.Join(dir, "absent.db"), nil, nil, []byte("CREATE TABLE t (a);\nINSERT INTO t VALUES (1);")); err != nil {
		t.Error(err)
	}
	if got := dumped(t, filepath.Join(dir, "absent.db")); got != "CREATE TABLE t (a);\nINSERT INTO \"t\" VALUES(1);\n" {
		t.Error(got)
	}
}

// Of a table only what is asked for is read, changed and compared: what others do elsewhere in it is no hindrance.
func TestParts(t *testing.T) {
	t.Parallel()
	path, db := made(t, "CREATE TABLE t (id TEXT PRIMARY KEY, p TEXT, n INT)", "CREATE TABLE u (id TEXT PRIMARY KEY, p TEXT) WITHOUT ROWID", "CREATE TABLE absent (n)",
		"INSERT INTO t VALUES ('z', 'mine', 1), ('y', 'theirs', 2), ('x', 'mine', 3), ('w', 'mine', 4), ('v', 'theirs', 5)",
		"INSERT INTO u VALUES ('b', 'mine'), ('a', 'mine'), ('c', 'theirs')", "INSERT INTO absent VALUES (1)")
	parts := []dump.Part{{Table: "t", Column: "p", Value: "mine", Newest: 2}, {Table: "u", Column: "P", Value: "mine", Newest: 1}, {Table: "absent", Column: "p", Value: "mine"}}
	text, err := sqlite.Dump(path, parts)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, table := range dump.Read(text).Tables {
		for _, row := range table.Rows {
			got = append(got, row.Cells[0].Text)
		}
	}
	if diff := cmp.Diff([]string{"x", "w", "a", "b"}, got); diff != "" {
		t.Errorf("%s%s", diff, text)
	}
	run(t, db, "UPDATE t SET n = 0 WHERE p = 'theirs'", "DELETE FROM t WHERE id = 'v'")
	now := strings.Replace(string(text), "'w','mine',4", "'w','mine',5", 1) + "INSERT INTO t VALUES('q','mine',6);\n"
	if err := sqlite.Apply(path, parts, text, []byte(now)); err != nil {
		t.Error(err)
	}
	var all string
	if err := db.QueryRow("SELECT group_concat(id || n, ' ') FROM (SELECT * FROM t ORDER BY id)").Scan(&all); err != nil || all != "q6 w5 x3 y0 z1" {
		t.Errorf("%s, %v", all, err)
	}
	run(t, db, "INSERT INTO t VALUES ('r', 'mine', 7)")
	if err := sqlite.Apply(path, parts, text, []byte(now)); !errors.Is(err, format.ErrChanged) {
		t.Errorf("got %v", err)
	}
}

// What is wrong with a database is said in plain words, with what can be done.
func TestWhatIsWrong(t *testing.T) {
	t.Parallel()
	locked, db := made(t, "CREATE TABLE t (n)", "BEGIN EXCLUSIVE")
	whole, _ := made(t, "CREATE TABLE t (n)", "WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < 9999) INSERT INTO t SELECT n FROM i")
	data, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, data := range map[string][]byte{"half.db": data[:len(data)/2], "other.db": append([]byte("SQLite format 3\x00"), make([]byte, 4096)...)} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]struct {
		kind pawl.Kind
		what string
	}{
		locked: {pawl.KindHeld, "locked by another program"}, filepath.Join(dir, "half.db"): {pawl.KindDamaged, "the database is damaged or incomplete"},
		filepath.Join(dir, "other.db"): {pawl.KindUsage, "not an SQLite database"}, filepath.Join(dir, "absent.db"): {pawl.KindUsage, "cannot open the database"},
	} {
		_, err := sqlite.Dump(path, []dump.Part{{Table: "t"}})
		if err == nil || !strings.HasPrefix(err.Error(), want.what) || strings.Contains(err.Error(), "pragma") || pawl.KindOf(err) != want.kind || !strings.Contains(pawl.HintOf(err), path) {
			t.Errorf("%s: %v (%s)", filepath.Base(path), err, pawl.HintOf(err))
		}
	}
	run(t, db, "ROLLBACK")
}

// TestAllOrNothing: where one of several changes cannot be made, in whichever table, none of them is there, nor is a table that was
// to be made; and nobody is kept waiting for the rest.
func TestAllOrNothing(t *testing.T) {
	t.Parallel()
	path, db := made(t, table, "INSERT INTO T (id, j) VALUES (1, 'a'), (2, 'b')", "CREATE TABLE u (n INTEGER CHECK (n < 5))", "INSERT INTO u VALUES (1)")
	parts := []dump.Part{{Table: "t"}, {Table: "u"}, {Table: "v"}}
	was, err := sqlite.Dump(path, parts)
	if err != nil {
		t.Fatal(err)
	}
	for name, changes := range map[string][]string{
		"the last table":       {"'a'", "'changed'", `INTO "u" VALUES(1)`, `INTO "u" VALUES(9)`},
		"a row that is added":  {"'a'", "'changed'", `INTO "u" VALUES(1);`, `INTO "u" VALUES(1);` + "\n" + `INSERT INTO "u" VALUES(9);`},
		"the last row":         {"'a'", "'changed'", "VALUES(2,", "VALUES(1,"},
		"a table that is made": {"'a'", "'changed'", `INTO "u" VALUES(1);`, `INTO "u" VALUES(2);` + "\nCREATE TABLE v (n INTEGER CHECK (n < 5));\nINSERT INTO v VALUES (9);"},
	} {
		now := string(was)
		for i := 0; i < len(changes); i += 2 {
			if !strings.Contains(now, changes[i]) {
				t.Fatalf("%s: no %s in %s", name, changes[i], now)
			}
			now = strings.Replace(now, changes[i], changes[i+1], 1)
		}
		if err := sqlite.Apply(path, parts, was, []byte(now)); err == nil {
			t.Errorf("%s: it was written:\n%s", name, now)
		}
		if after, err := sqlite.Dump(path, parts); err != nil || string(after) != string(was) {
			t.Fatalf("%s: half of it is there, %v:\n%s", name, err, after)
		}
		run(t, db, "UPDATE u SET n = n") // it is not locked
	}
}

// TestATextHoldsWhatIsLoaded: a text is read as SQLite loads it, also where rows give way to others of their key; and what is
// changed in one of its rows, or added, is there when it is loaded again.
func TestATextHoldsWhatIsLoaded(t *testing.T) {
	t.Parallel()
	const tables = "CREATE TABLE t (id INTEGER PRIMARY KEY, p TEXT UNIQUE, s TEXT, n TEXT);\nINSERT INTO t (p, s) VALUES ('a', 'active'), ('b', 'paused');\n" +
		"INSERT INTO t (id, p, s) VALUES (7, 'd', 'active');\n"
	for _, text := range []string{
		"INSERT INTO t (p, s) VALUES ('a', 'failed') ON CONFLICT DO NOTHING;",
		"INSERT INTO t (p, s) VALUES ('a', 'failed'), ('c', 'active') ON CONFLICT (p) DO NOTHING;",
		"INSERT OR IGNORE INTO t (p, s) VALUES ('a', 'failed');",
		"INSERT OR REPLACE INTO t (p, s) VALUES ('a', 'failed');",
		"REPLACE INTO t (p, n) VALUES ('b', 'new');",
		"INSERT INTO t (p, s) VALUES ('a', 'failed') ON CONFLICT (p) DO UPDATE SET s = 'completed';",
		"INSERT INTO t (p, s, n) VALUES ('a', 'failed', 'x'), ('b', 'failed', 'y') ON CONFLICT (p) DO UPDATE SET s = EXCLUDED.s, n = excluded.n;",
		"INSERT INTO t (p, s) VALUES ('a', 'failed') ON CONFLICT (p) DO UPDATE SET p = EXCLUDED.p, s = EXCLUDED.s;\n" +
			"INSERT INTO t (p, s) VALUES ('a', 'done') ON CONFLICT (p) DO UPDATE SET s = EXCLUDED.s;",
		"INSERT INTO t VALUES (7, 'z', 'failed', NULL), (8, 'y', 'failed', NULL) ON CONFLICT DO NOTHING;",
		"INSERT INTO t (p, s) VALUES (NULL, 'failed'), (NULL, 'failed') ON CONFLICT DO NOTHING;",
	} {
		read := dump.Read([]byte(tables + text))
		if len(read.Problems) > 0 {
			t.Errorf("%s: %v", text, read.Problems)
		}
		same := func() {
			t.Helper()
			text := string(read.Bytes())
			_, db := made(t, text)
			if diff := cmp.Diff(loaded(t, db), rowsOf(dump.Read([]byte(text)))); diff != "" {
				t.Errorf("%s: %s", text, diff)
			}
		}
		same()
		for _, row := range read.Table("t").Rows {
			read.Set(row, "s", dump.TextOf("changed"))
		}
		same()
		read.Append(read.Table("t"), []dump.Pair{{Column: "p", Value: dump.TextOf("mine")}, {Column: "s", Value: dump.TextOf("mine")}})
		same()
		for p, rest := range rowsOf(dump.Read(read.Bytes())) {
			if (p == "mine") == strings.HasPrefix(rest, "changed ") {
				t.Errorf("%s: %s has %s", read.Bytes(), p, rest)
			}
		}
	}
}

// loaded returns what SQLite has, by p.
func loaded(t *testing.T, db *sql.DB) map[string]string {
	t.Helper()
	rows, err := db.Query("SELECT coalesce(p, 'none'), coalesce(s, '-') || ' ' || coalesce(n, '-') FROM t ORDER BY id")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	all := map[string]string{}
	for rows.Next() {
		var p, rest string
		if err := rows.Scan(&p, &rest); err != nil {
			t.Fatal(err)
		}
		all[p] += rest
	}
	return all
}

func rowsOf(d *dump.Dump) map[string]string {
	all := map[string]string{}
	said := func(row *dump.Row, column, none string) string {
		if v, _ := row.Get(column); v.Kind != dump.Null {
			return v.Text
		}
		return none
	}
	for _, row := range d.Table("t").Rows {
		all[said(row, "p", "none")] += said(row, "s", "-") + " " + said(row, "n", "-")
	}
	return all
}
