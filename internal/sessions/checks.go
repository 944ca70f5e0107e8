package sessions

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"pawl"
	"pawl/internal/project"
	"pawl/internal/runs"
	"pawl/internal/supervise"
)

// FailingChecks runs a step's acceptance checks and returns those that fail, with the end of their output. It is for an
// agent that is about to report done. Only the checks that the supervisor runs later decide.
func FailingChecks(ctx context.Context, p *project.Project, run pawl.RunID, ref pawl.AttemptRef, environ []string) ([]string, error) {
	r, err := runs.Load(ctx, p, run)
	if err != nil {
		return nil, err
	}
	defer r.Log.Close()
	step := r.Plan.Step(ref.Step)
	if step == nil {
		return nil, nil
	}
	job := &pawl.Job{Shell: step.Shell, RunShell: r.State.Shell}
	file := filepath.Join(p.AttemptDir(ref, run), "turn-"+pawl.ScriptFile)
	var unmet []string
	for _, name := range slices.Sorted(maps.Keys(step.Accept)) {
		command, err := supervise.ScriptCommand(job, step.Accept[name], file)
		if err != nil {
			return nil, err
		}
		if text := check(ctx, filepath.Join(p.Root, filepath.FromSlash(step.Dir)), command, environ); text != "" {
			unmet = append(unmet, fmt.Sprintf("- %s (`%s`): %s", name, step.Accept[name], text))
		}
	}
	return unmet, nil
}

// checkOutput is how much of a failed check's output is reported, in bytes.
const checkOutput = 1000

// check runs a check in its own process group and returns its failure, "" if it passes. A timeout is not a failure; the
// check runs again when the step ends.
func check(ctx context.Context, dir string, command, environ []string) string {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir, cmd.Env = dir, environ
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	exit, failed := errors.AsType[*exec.ExitError](err)
	if !failed || ctx.Err() != nil {
		return ""
	}
	text := strings.TrimSpace(string(out))
	return fmt.Sprintf("%v\n%s", exit, text[max(0, len(text)-checkOutput):])
}
