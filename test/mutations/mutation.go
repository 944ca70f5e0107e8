package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// A Mutation is one break of a behavior that rows of docs/seed-systems describe.
type Mutation struct {
	Place string   // file:line
	Rows  []string // numbers such as G12
	What  string   // the broken behavior
	File  string   // the source file, relative to the repository
	Tests []string // tests and stories that must fail
	Old   string   // occurs once in File
	New   string
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

// survivors runs the mutation's tests and returns those that do not fail.
func (m Mutation) survivors(tests map[string][]string) ([]string, error) {
	dir, err := os.MkdirTemp("", "pawl-mutation-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	overlay, err := m.overlay(dir)
	if err != nil {
		return nil, err
	}
	byPackage := map[string][]string{}
	for _, name := range m.Tests {
		pkg, err := packageOf(name, m.File, tests)
		if err != nil {
			return nil, err
		}
		byPackage[pkg] = append(byPackage[pkg], name)
	}
	var alive []string
	for pkg, names := range byPackage {
		found, err := runTests(overlay, pkg, names)
		if err != nil {
			return nil, err
		}
		alive = append(alive, found...)
	}
	slices.Sort(alive)
	return alive, nil
}

// overlay writes the mutated file, and a file that tells the go command to use it. It returns the path of the latter.
func (m Mutation) overlay(dir string) (string, error) {
	data, err := m.Apply(".")
	if err != nil {
		return "", err
	}
	file, err := filepath.Abs(m.File)
	if err != nil {
		return "", err
	}
	mutated, path := filepath.Join(dir, "mutated.go"), filepath.Join(dir, "overlay.json")
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{file: mutated}})
	if err != nil {
		return "", err
	}
	return path, errors.Join(os.WriteFile(mutated, data, 0o600), os.WriteFile(path, text, 0o600))
}

// runTests runs tests or stories of one package, and returns the names of those that do not fail. Stories build pawl themselves, so
// the overlay is passed in the environment.
func runTests(overlay, pkg string, names []string) ([]string, error) {
	pattern := "^(" + strings.Join(names, "|") + ")$"
	if isStory(names[0]) {
		pattern = "TestScript/" + pattern
	}
	cmd := exec.Command("go", "test", "-count=1", "-timeout=3m", "-vet=off", "-ldflags=-s -w", "./"+pkg, "-run", pattern)
	cmd.Env = append(os.Environ(), "GOFLAGS=-overlay="+overlay, "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	text := string(out)
	if strings.Contains(text, "[build failed]") || strings.Contains(text, "[setup failed]") || strings.Contains(text, "build: exit status") {
		return nil, fmt.Errorf("the mutated program does not compile:\n%s", text)
	}
	if _, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed {
		return nil, err
	}
	return slices.DeleteFunc(names, func(name string) bool { return failed(text, name) }), nil
}

// failed reports whether the output of go test says that a test or story failed.
func failed(output, name string) bool {
	if isStory(name) {
		name = "TestScript/" + name
	}
	return strings.Contains(output, "--- FAIL: "+name+" ")
}
