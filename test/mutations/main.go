// Command mutations breaks the behavior behind rows of docs/seed-systems, one break at a time, and checks that the tests that a row names
// fail.
//
// Each mutation in testdata replaces one text of one source file. The tests are compiled with the changed file (go build -overlay);
// the working copy stays as it is.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
)

func main() {
	only := flag.String("only", "", "a regular expression: only mutations whose `rows`, file or tests match")
	chunk := flag.String("chunk", "1/1", "run one `part` of the mutations, such as 2/4")
	units := flag.Bool("units", false, "leave out stories, which need a whole pawl with the mutations")
	flag.Parse()
	if err := run(os.Stdout, *only, *chunk, *units); err != nil {
		fmt.Fprintln(os.Stderr, "mutations:", err)
		os.Exit(1)
	}
}

func run(out io.Writer, only, chunk string, units bool) error {
	all, err := load("test/mutations/testdata")
	if err != nil {
		return err
	}
	tests, err := findTests(".")
	if err != nil {
		return err
	}
	if units {
		all = withoutStories(all)
	}
	chosen, err := choose(all, only, chunk)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "pawl-mutations-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	shared, alone, err := newProgram(dir, chosen)
	if err != nil {
		return err
	}
	if err := passUnchanged(shared, chosen, tests); err != nil {
		return err
	}
	red, wrong := map[string]bool{}, []error{}
	for _, m := range chosen {
		word := "red  "
		needsOwn := slices.ContainsFunc(alone, func(a Mutation) bool { return a.Number == m.Number })
		if err := m.check(shared, needsOwn, tests); err != nil {
			word, wrong = "WRONG", append(wrong, fmt.Errorf("%s: %s: %w", m.Place, m, err))
		} else {
			for _, row := range m.Rows {
				red[row] = true
			}
		}
		fmt.Fprintln(out, word, m)
	}
	fmt.Fprintf(out, "%d mutations, %d rows whose tests fail as they must\n", len(chosen), len(red))
	return errors.Join(wrong...)
}

// passUnchanged returns an error if a test fails while no mutation is on: then its failure proves nothing.
func passUnchanged(shared *program, all []Mutation, tests map[string][]string) error {
	named, err := byPackage(all, tests)
	if err != nil {
		return err
	}
	if err := errors.Join(shared.turnOn(0), shared.compile(all)); err != nil {
		return err
	}
	failing, err := shared.runAll(named)
	if err == nil && len(failing) > 0 {
		err = fmt.Errorf("these tests fail without a mutation: %s", strings.Join(failing, ", "))
	}
	return err
}

// errGreen says that tests of a row did not notice a mutation.
var errGreen = errors.New("these tests stay green although the behavior is broken")

// check returns an error unless all tests of a mutation fail while it is on.
func (m Mutation) check(shared *program, needsOwn bool, tests map[string][]string) error {
	p := shared
	if needsOwn {
		dir, err := os.MkdirTemp("", "pawl-mutation-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		if p, err = aloneProgram(dir, m); err != nil {
			return err
		}
	}
	named, err := byPackage([]Mutation{m}, tests)
	if err != nil {
		return err
	}
	if err := p.turnOn(m.Number); err != nil {
		return err
	}
	failing, err := p.runAll(named)
	if err != nil {
		return err
	}
	if green := slices.DeleteFunc(slices.Clone(m.Tests), func(name string) bool { return slices.Contains(failing, name) }); len(green) > 0 {
		return fmt.Errorf("%w: %s", errGreen, strings.Join(green, ", "))
	}
	return nil
}

// withoutStories returns the mutations that tests other than stories notice, with these.
func withoutStories(all []Mutation) []Mutation {
	var found []Mutation
	for _, m := range all {
		if m.Tests = slices.DeleteFunc(slices.Clone(m.Tests), isStory); len(m.Tests) > 0 {
			found = append(found, m)
		}
	}
	return found
}

// choose returns the mutations that match a pattern, and of these the part that chunk names.
func choose(all []Mutation, only, chunk string) ([]Mutation, error) {
	pattern, err := regexp.Compile(only)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(slices.Clone(all), func(m Mutation) bool {
		return !pattern.MatchString(strings.Join(slices.Concat(m.Rows, m.Tests, []string{m.File}), " "))
	})
	var part, parts int
	if _, err := fmt.Sscanf(chunk, "%d/%d", &part, &parts); err != nil || part < 1 || part > parts {
		return nil, fmt.Errorf("chunk %q is not such as 2/4", chunk)
	}
	return all[len(all)*(part-1)/parts : len(all)*part/parts], nil
}
