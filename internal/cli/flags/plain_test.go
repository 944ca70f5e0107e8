package flags_test

import (
	"testing"

	"github.com/spf13/cobra"

	"pawl/internal/cli/flags"
)

func TestPlain(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"--paralel":       "unknown flag: --paralel; did you mean --parallel?",
		"--quiet":         "unknown flag: --quiet",
		"--parallel=x":    `--parallel must be a number, not "x"`,
		"--age=soon":      `--age: "soon" is not an age; use a form such as 7d, 2w or 36h`,
		"-asoon":          `--age: "soon" is not an age; use a form such as 7d, 2w or 36h`,
		"--parallel":      "flag needs an argument: --parallel",
		"--yes=--perhaps": "--yes must be true or false",
	} {
		c := &cobra.Command{Use: "x"}
		var n int
		var age flags.Age
		c.Flags().Var(flags.Number(&n, "parallel", 0, 1), "parallel", "how many")
		c.Flags().VarP(&age, "age", "a", "how old")
		c.Flags().Bool("yes", false, "confirm")
		if got := flags.Plain(c.ParseFlags([]string{args}), c.Flags().FlagUsages()); got == nil || got.Error() != want {
			t.Errorf("%s: %v, want %s", args, got, want)
		}
	}
}
