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

// A row is one numbered demand in docs/seed-systems.
type row struct {
	Number string // such as G12
	Tests  []string
	Reason string // why there is no test; empty if there is one
}

// A system is a seed system: its page in docs/seed-systems, and the letter and the count of its demands.
type system struct {
	Name    string
	Letter  string
	Demands int
}

// systems are the five, in the order of their documents.
var systems = []system{
	{"grid", "G", 67},
	{"dotagent", "D", 36},
	{"sitebuilder", "S", 36},
	{"projectstate", "P", 53},
	{"gyoshu", "Y", 124},
}

var (
	rowLine  = regexp.MustCompile(`^\| ([GDSPY]\d+) \|`)
	testName = regexp.MustCompile("`([A-Za-z0-9_]+)[^`]*`")
)

// readRows reads the numbered rows of one system's page, in the page's order. A row has five cells: number, demand, what pawl does,
// differences, tests.
func readRows(root string, s system) ([]row, error) {
	data, err := os.ReadFile(filepath.Join(root, "docs", "seed-systems", s.Name+".md"))
	if err != nil {
		return nil, err
	}
	var rows []row
	for line := range strings.SplitSeq(string(data), "\n") {
		m := rowLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		cells := strings.Split(strings.ReplaceAll(strings.Trim(line, "| "), `\|`, "/"), " | ")
		if len(cells) != 5 || slices.Contains(cells[:3], "") {
			return nil, fmt.Errorf("%s: row %s has not five cells, or an empty one", s.Name, m[1])
		}
		r := row{Number: m[1]}
		if reason, none := strings.CutPrefix(cells[4], "no test: "); none {
			r.Reason = reason
		} else {
			for _, name := range testName.FindAllStringSubmatch(cells[4], -1) {
				r.Tests = append(r.Tests, name[1])
			}
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// TestEveryDemandHasARow: each demand of the five documents is one row of docs/seed-systems, in order, with tests and stories that
// exist or the reason why there is none.
func TestEveryDemandHasARow(t *testing.T) {
	t.Parallel()
	tests, err := allTests()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range systems {
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

// TestNamesExist: the tests and stories that any page of docs/seed-systems names exist.
func TestNamesExist(t *testing.T) {
	t.Parallel()
	tests, err := allTests()
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(root, "docs", "seed-systems", "*.md"))
	if err != nil || len(pages) != len(systems) {
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
