// Mutations breaks the behavior behind rows of docs/seed-systems, one break at a time, and checks that the tests that a row names
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
	flag.Parse()
	if err := run(os.Stdout, *only, *chunk); err != nil {
		fmt.Fprintln(os.Stderr, "mutations:", err)
		os.Exit(1)
	}
}

func run(out io.Writer, only, chunk string) error {
	all, err := load("test/mutations/testdata")
	if err != nil {
		return err
	}
	tests, err := findTests(".")
	if err != nil {
		return err
	}
	chosen, err := choose(all, only, chunk)
	if err != nil {
		return err
	}
	red, wrong := map[string]bool{}, []error{}
	for _, m := range chosen {
		word := "red  "
		if err := m.check(tests); err != nil {
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

// errGreen says that tests of a row did not notice a mutation.
var errGreen = errors.New("these tests stay green although the behavior is broken")

// check returns an error unless all tests of a mutation fail.
func (m Mutation) check(tests map[string][]string) error {
	alive, err := m.survivors(tests)
	if err == nil && len(alive) > 0 {
		err = fmt.Errorf("%w: %s", errGreen, strings.Join(alive, ", "))
	}
	return err
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
