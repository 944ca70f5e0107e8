package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// TestEveryDemandHasARow: each demand of the five documents is one row of docs/seed-systems, in order, with tests and stories that
// exist or the reason why there is none.
func TestEveryDemandHasARow(t *testing.T) {
	t.Parallel()
	tests, err := findTests(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range Systems {
		rows, err := readRows(root, s)
		if err != nil {
			t.Error(err)
			continue
		}
		for i, r := range rows {
			if want := fmt.Sprintf("%s%d", s.Letter, i+1); r.Number != want {
				t.Errorf("%s: row %s is where %s must be", s.Name, r.Number, want)
				break
			}
			if len(r.Tests) == 0 && r.Reason == "" {
				t.Errorf("%s: row %s has neither a test nor a reason", s.Name, r.Number)
			}
			for _, name := range r.Tests {
				if tests[name] == nil {
					t.Errorf("%s: row %s: there is no %s", s.Name, r.Number, name)
				}
			}
		}
		if len(rows) != s.Demands {
			t.Errorf("%s: %d rows for %d demands", s.Name, len(rows), s.Demands)
		}
	}
}

// TestMutationsApply: each mutation changes one text of one file, and names rows and tests of these rows. Together they break enough
// rows of each system.
func TestMutationsApply(t *testing.T) {
	t.Parallel()
	tests, err := findTests(root)
	if err != nil {
		t.Fatal(err)
	}
	all, err := load("testdata")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]Row{}
	for _, s := range Systems {
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
	for _, s := range Systems {
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

// TestFailed: a test that passes beside one that fails is found.
func TestFailed(t *testing.T) {
	t.Parallel()
	output := "--- FAIL: TestA (0.00s)\n    --- FAIL: TestScript/one (0.00s)\n"
	if !failed(output, "TestA") || !failed(output, "one") || failed(output, "TestB") || failed(output, "two") || failed(output, "Test") {
		t.Error("wrong")
	}
}

// TestNamesExist: the tests and stories that any page of docs/seed-systems names exist.
func TestNamesExist(t *testing.T) {
	t.Parallel()
	tests, err := findTests(root)
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(root, "docs", "seed-systems", "*.md"))
	if err != nil || len(pages) != len(Systems) {
		t.Fatal(err, pages)
	}
	name := regexp.MustCompile(`\b(?:Test|Fuzz)[A-Z][A-Za-z0-9]+\b|\b(?:seed|mirror|import)_[a-z0-9_]+\b`)
	for _, page := range append(pages, filepath.Join(root, "docs", "seed-systems.md")) {
		data, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		named := name.FindAllString(string(data), -1)
		if len(named) == 0 {
			t.Errorf("%s names no tests", page)
		}
		for _, n := range named {
			if tests[n] == nil {
				t.Errorf("%s: there is no %s", page, n)
			}
		}
	}
}
