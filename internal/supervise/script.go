package supervise

import (
	"fmt"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/shellwords"
)

// ScriptCommand returns the program and arguments that run a script in a job's shell, or a command without one. If the shell reads its script from a
// file, it writes that file. The file is not synced: a command that a power failure ended does not need it any more.
func ScriptCommand(job *pawl.Job, script, file string) ([]string, error) {
	if words, ok := shellwords.Split(script); ok && job.Words && script == job.Script {
		return words, nil
	}
	shell := job.Shell.Or(job.RunShell)
	if shell.ReadsFile() {
		if err := disk.Put(file, []byte(script)); err != nil {
			return nil, fmt.Errorf("write the script for shell %q: %w", shell, err)
		}
	}
	return shell.Command(script, file), nil
}
