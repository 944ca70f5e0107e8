package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Mutation is one break of a behavior that rows of docs/seed-systems describe.
type Mutation struct {
	Number int      // from 1, over all mutations
	Place  string   // file:line
	Rows   []string // numbers such as G12
	What   string   // the broken behavior
	File   string   // the source file, relative to the repository
	Tests  []string // tests and stories that must fail
	Old    string   // occurs once in File
	New    string
}

func (m Mutation) String() string { return strings.Join(m.Rows, " ") + ": " + m.What }

// load reads all mutations below dir.
func load(dir string) ([]Mutation, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil {
		return nil, err
	}
	var all []Mutation
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		found, err := parse(filepath.Base(path), string(data))
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	for i := range all {
		all[i].Number = i + 1
	}
	return all, nil
}

// parse reads mutations in the form that README.md describes.
func parse(name, text string) ([]Mutation, error) {
	var found []Mutation
	var m *Mutation
	for i, line := range strings.Split(text, "\n") {
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case line == "" || line[0] == '#':
		case word == "rows":
			numbers, what, _ := strings.Cut(rest, ": ")
			found = append(found, Mutation{Place: fmt.Sprintf("%s:%d", name, i+1), Rows: strings.Fields(numbers), What: what})
			m = &found[len(found)-1]
		case m == nil:
			return nil, fmt.Errorf("%s:%d: a mutation begins with its rows", name, i+1)
		case word == "file":
			m.File = rest
		case word == "tests":
			m.Tests = strings.Fields(rest)
		case line[0] == '-':
			m.Old += line[1:] + "\n"
		case line[0] == '+':
			m.New += line[1:] + "\n"
		default:
			return nil, fmt.Errorf("%s:%d: %q is not rows, file, tests, - or +", name, i+1, line)
		}
	}
	return found, nil
}

// Apply returns the mutated content of a file.
func (m Mutation) Apply(root string) ([]byte, error) {
	data, err := os.ReadFile(filepath.Join(root, m.File))
	if err != nil {
		return nil, err
	}
	if n := strings.Count(string(data), m.Old); n != 1 || m.Old == "" {
		return nil, fmt.Errorf("the text occurs %d times in %s, not once:\n%s", n, m.File, m.Old)
	}
	return []byte(strings.Replace(string(data), m.Old, m.New, 1)), nil
}

// byPackage returns the tests of mutations by their packages.
func byPackage(all []Mutation, tests map[string][]string) (map[string][]string, error) {
	found := map[string][]string{}
	for _, m := range all {
		for _, name := range m.Tests {
			pkg, err := packageOf(name, m.File, tests)
			if err != nil {
				return nil, err
			}
			if !slices.Contains(found[pkg], name) {
				found[pkg] = append(found[pkg], name)
			}
		}
	}
	return found, nil
}
