package pawl_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl"
)

func TestShellCommand(t *testing.T) {
	t.Parallel()
	for shell, want := range map[pawl.Shell][]string{
		"sh":                  {"/bin/sh", "-c", "x"},
		"sh -e":               {"/bin/sh", "-e", "-c", "x"},
		"bash":                {"bash", "-e", "-o", "pipefail", "-c", "x"},
		"python":              {"python3", "-c", "x"},
		"node {}":             {"node", "/a b"},
		" perl  -w {} --f={}": {"perl", "-w", "/a b", "--f=/a b"},
	} {
		if err := shell.Check(); err != nil {
			t.Errorf("%q: %v", shell, err)
		}
		if diff := cmp.Diff(want, shell.Command("x", "/a b")); diff != "" {
			t.Errorf("%q: -want +got\n%s", shell, diff)
		}
		if shell.ReadsFile() != strings.Contains(string(shell), "{}") || shell.Program() != want[0] {
			t.Errorf("%q: reads a file: %v, program %s", shell, shell.ReadsFile(), shell.Program())
		}
	}
	if pawl.Shell("").Or("") != pawl.PlainSh || pawl.Shell("").Or(pawl.DefaultShell) != pawl.StrictSh || pawl.Bash.Or(pawl.PlainSh) != pawl.Bash {
		t.Error("the default is wrong")
	}
}

func TestShellCheck(t *testing.T) {
	t.Parallel()
	for shell, want := range map[pawl.Shell]string{
		"":               "is empty",
		" ":              "is empty",
		"zsh":            `such as "zsh -e {}"`,
		"ruby":           `such as "ruby {}"`,
		"bash -eu":       `such as "bash -e {}"`,
		"{}":             "no program before {}",
		"x{} {}":         "no program before {}",
		"sh -c '{}'":     "without quotes",
		"a {}; b":        "without quotes",
		"$SHELL {}":      "without quotes",
		"a {}\nb":        "without quotes",
		"sh  -e":         `such as "sh -e {}"`,
		"powershell -Co": `such as "powershell {}"`,
	} {
		if err := shell.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", shell, err, want)
		}
	}
}
