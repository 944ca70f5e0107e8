package main

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A Row is one numbered demand in docs/seed-systems.
type Row struct {
	Number string // such as G12
	Tests  []string
	Reason string // why there is no test; empty if there is one
}

// System is a seed system: its page in docs/seed-systems, and the letter and the count of its demands.
type System struct {
	Name    string
	Letter  string
	Demands int
}

// Systems are the five, in the order of their documents.
var Systems = []System{
	{"grid", "G", 67},
	{"dotagent", "D", 36},
	{"sitebuilder", "S", 36},
	{"projectstate", "P", 53},
	{"gyoshu", "Y", 124},
}

var (
	rowLine  = regexp.MustCompile(`^\| ([GDSPY]\d+) \|`)
	testName = regexp.MustCompile("`([A-Za-z0-9_]+)[^`]*`")
	testFunc = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
)

// readRows reads the numbered rows of one system's page, in the page's order. A row has five cells: number, demand, what pawl does,
// differences, tests.
func readRows(root string, s System) ([]Row, error) {
	data, err := os.ReadFile(filepath.Join(root, "docs", "seed-systems", s.Name+".md"))
	if err != nil {
		return nil, err
	}
	var rows []Row
	for line := range strings.SplitSeq(string(data), "\n") {
		m := rowLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		cells := strings.Split(strings.ReplaceAll(strings.Trim(line, "| "), `\|`, "/"), " | ")
		if len(cells) != 5 || slices.Contains(cells[:3], "") {
			return nil, fmt.Errorf("%s: row %s has not five cells, or an empty one", s.Name, m[1])
		}
		r := Row{Number: m[1]}
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

// findTests returns the packages of each test, and of each story.
func findTests(root string) (map[string][]string, error) {
	found := map[string][]string{}
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		rel = path.Dir(filepath.ToSlash(rel))
		switch {
		case strings.HasSuffix(file, ".txtar") && strings.HasPrefix(rel, "test/stories/"):
			name := strings.TrimSuffix(d.Name(), ".txtar")
			found[name] = append(found[name], path.Dir(rel))
		case strings.HasSuffix(file, "_test.go"):
			data, err := os.ReadFile(file)
			for _, m := range testFunc.FindAllSubmatch(data, -1) {
				found[string(m[1])] = append(found[string(m[1])], rel)
			}
			return err
		}
		return nil
	})
	return found, err
}

// isStory reports whether a name is that of a story.
func isStory(name string) bool {
	return !strings.HasPrefix(name, "Test") && !strings.HasPrefix(name, "Fuzz")
}

// packageOf returns the package of a test. Of several tests with one name it is that of the mutated file's package.
func packageOf(name, file string, tests map[string][]string) (string, error) {
	packages := tests[name]
	switch own := path.Dir(file); {
	case slices.Contains(packages, own):
		return own, nil
	case len(packages) == 1:
		return packages[0], nil
	default:
		return "", fmt.Errorf("%s is in %d packages, and not in that of %s", name, len(packages), file)
	}
}
