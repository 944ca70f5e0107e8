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

// errGreen says that the tests of some rows did not notice a mutation.
var errGreen = errors.New("these tests stay green although the behavior is broken")

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
	red, green := map[string]bool{}, []string{}
	for _, m := range chosen {
		alive, err := m.survivors(tests)
		if err != nil {
			return fmt.Errorf("%s: %w", m, err)
		}
		word := "red  "
		if len(alive) > 0 {
			word = "GREEN"
			green = append(green, fmt.Sprintf("%s: %s", m, strings.Join(alive, ", ")))
		}
		for _, row := range m.Rows {
			red[row] = red[row] || len(alive) == 0
		}
		fmt.Fprintln(out, word, m)
	}
	broken := 0
	for _, is := range red {
		if is {
			broken++
		}
	}
	fmt.Fprintf(out, "%d mutations, %d rows whose tests fail as they must\n", len(chosen), broken)
	if len(green) > 0 {
		return fmt.Errorf("%w:\n%s", errGreen, strings.Join(green, "\n"))
	}
	return nil
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
