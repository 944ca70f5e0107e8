package pawl

import (
	"cmp"
	"fmt"
	"strings"
)

// Shell runs a step's scripts: run, accept and undo. It is one of the names below, or a command that contains {}, the path
// of a file with the script. Empty means the default of the run.
type Shell string

// The named shells.
const (
	PlainSh  Shell = "sh"    // ignores failed commands; the default of runs that an older pawl created
	StrictSh Shell = "sh -e" // stops at a failed command; the default of new runs
	Bash     Shell = "bash"  // stops at a failed command, also within a pipe
	Python   Shell = "python"
)

// DefaultShell is the default of new runs.
const DefaultShell = StrictSh

// scriptPath stands for the path of the script in a Shell.
const scriptPath = "{}"

// shellArgs are the programs and arguments of the named shells. The script follows.
var shellArgs = map[Shell][]string{
	PlainSh:  {"/bin/sh", "-c"},
	StrictSh: {"/bin/sh", "-e", "-c"},
	Bash:     {"bash", "-e", "-o", "pipefail", "-c"},
	Python:   {"python3", "-c"},
}

// Or returns the shell, or the run's default if it is empty. Runs that an older pawl created recorded no default.
func (s Shell) Or(runDefault Shell) Shell { return cmp.Or(s, runDefault, PlainSh) }

// Check returns an error for an unknown shell.
func (s Shell) Check() error {
	switch {
	case shellArgs[s] != nil:
		return nil
	case strings.TrimSpace(string(s)) == "":
		return fmt.Errorf(`"shell" is empty; set a shell or remove the key`)
	case strings.ContainsAny(string(s), "'\"\\$`|&;<>()*?\n\x00"):
		return fmt.Errorf(`a shell is a program and its arguments without quotes, variables and operators, not %q; put those into a script of your own`, string(s))
	case !s.ReadsFile():
		return fmt.Errorf(`unknown shell %q; use sh, "sh -e", bash, python, or a command with {} for the path of the script, such as %q`, string(s), s.withFile())
	case strings.Contains(s.Program(), scriptPath):
		return fmt.Errorf(`shell %q names no program before {}; use a form such as "node {}"`, string(s))
	}
	return nil
}

// withFile returns a command like s that reads its script from a file.
func (s Shell) withFile() string {
	program := s.Program()
	switch program {
	case "bash", "dash", "ksh", "sh", "zsh":
		return program + " -e {}"
	}
	return program + " {}"
}

// ReadsFile reports whether the shell reads its script from a file.
func (s Shell) ReadsFile() bool {
	return shellArgs[s] == nil && strings.Contains(string(s), scriptPath)
}

// Program returns the shell's program, a path or a name in PATH.
func (s Shell) Program() string {
	if args := shellArgs[s]; args != nil {
		return args[0]
	}
	program, _, _ := strings.Cut(strings.TrimSpace(string(s)), " ")
	return program
}

// Command returns the program and its arguments that run a script. file is the path of a file with the script, which only
// a shell that ReadsFile needs.
func (s Shell) Command(script, file string) []string {
	if args := shellArgs[s]; args != nil {
		return append(append([]string{}, args...), script)
	}
	words := strings.Fields(string(s))
	for i, word := range words {
		words[i] = strings.ReplaceAll(word, scriptPath, file)
	}
	return words
}
