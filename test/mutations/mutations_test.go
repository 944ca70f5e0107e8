package main

import (
	"errors"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"sync"
	"testing"
)

const root = "../.."

var allTests = sync.OnceValues(func() (map[string][]string, error) { return findTests(root) })

// TestMutationsApply: each mutation changes one text of one file, and names rows and tests of these rows. Together they break enough
// rows of each system.
func TestMutationsApply(t *testing.T) {
	t.Parallel()
	tests, err := allTests()
	if err != nil {
		t.Fatal(err)
	}
	all, err := load("testdata")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]row{}
	for _, s := range systems {
		found, err := readRows(root, s)
		if err != nil {
			t.Error(err)
		}
		for _, r := range found {
			rows[r.Number] = r
		}
	}
	broken := map[string]bool{}
	for _, m := range all {
		if _, err := m.Apply(root); err != nil {
			t.Errorf("%s: %v", m.Place, err)
		}
		if m.What == "" || len(m.Tests) == 0 || m.Old == m.New {
			t.Errorf("%s: a mutation has a description, tests and a change", m.Place)
		}
		for _, number := range m.Rows {
			broken[number] = true
			if !slices.ContainsFunc(m.Tests, func(name string) bool { return slices.Contains(rows[number].Tests, name) }) {
				t.Errorf("%s: row %q names none of %q", m.Place, number, m.Tests)
			}
		}
		for _, name := range m.Tests {
			if _, err := packageOf(name, m.File, tests); err != nil {
				t.Errorf("%s: %v", m.Place, err)
			}
		}
	}
	for _, s := range systems {
		n := 0
		for number := range broken {
			if strings.HasPrefix(number, s.Letter) {
				n++
			}
		}
		if n < 8 {
			t.Errorf("%s: mutations break only %d rows", s.Name, n)
		}
	}
	if len(broken) < 60 {
		t.Errorf("mutations break only %d rows", len(broken))
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	found, err := parse("x.txt", "# note\n\nrows G1 G2: nothing is read\nfile a.go\ntests TestA story\n-\tif a {\n+\tif b {\n")
	if err != nil || len(found) != 1 || found[0].Old != "\tif a {\n" || found[0].New != "\tif b {\n" ||
		!slices.Equal(found[0].Rows, []string{"G1", "G2"}) || found[0].What != "nothing is read" {
		t.Errorf("%+v, %v", found, err)
	}
	for _, wrong := range []string{"file a.go\n", "rows G1: x\nold y\n"} {
		if _, err := parse("x.txt", wrong); err == nil {
			t.Errorf("%q is accepted", wrong)
		}
	}
}

// TestFailed: a test that passes next to one that fails is found.
func TestFailed(t *testing.T) {
	t.Parallel()
	output := "--- FAIL: TestA (0.00s)\n    --- FAIL: TestScript/one (0.00s)\n"
	if !failed(output, "TestA") || !failed(output, "one") || failed(output, "TestB") || failed(output, "two") || failed(output, "Test") {
		t.Error("wrong")
	}
}

// TestVariant: a mutated function or variable is added to its file, and used while its mutation is on. What has no name to call it by
// needs a program of its own.
func TestVariant(t *testing.T) {
	t.Parallel()
	const source = "package x\n\nimport \"fmt\"\n\nvar words = []string{\"a\"}\n\nconst n = 1\n\nfunc (r *T) f(a, b int, c ...string) bool {\n\treturn a == b\n}\n\nfunc g(_ int) {\n\tfmt.Println(n)\n}\n"
	for _, tt := range []struct{ old, new, insert, tail string }{
		{"a == b", "a != b", ` if pawlMutation == "7" { return r.f__7(a, b, c...) };`, "\nfunc (r *T) f__7(a, b int, c ...string) bool {\n\treturn a != b\n}\n"},
		{`"a"`, `"b"`, "", "\nfunc init() {\n\tif pawlMutation == \"7\" {\n\t\twords = []string{\"b\"}\n\t}\n}\n"},
		{"n = 1", "n = 2", "", ""},
		{"Println(n)", "Println()", "", ""},
	} {
		from := strings.Index(source, tt.old)
		v, err := variantOf(source, strings.Replace(source, tt.old, tt.new, 1), from, from+len(tt.old), "7")
		if alone := tt.insert+tt.tail == ""; v.insert != tt.insert || v.tail != tt.tail || alone != errors.Is(err, errAlone) {
			t.Errorf("%s: %+v, %v", tt.old, v, err)
			continue
		}
		s, err := switchVariant(source, "/on")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parser.ParseFile(token.NewFileSet(), "", withVariants(source, []variant{v, s}), 0); err != nil {
			t.Errorf("%s: %v", tt.old, err)
		}
	}
}
