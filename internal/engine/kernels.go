package engine

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/kernel/runner"
	"pawl/internal/runs"
)

// kernelInterruptWait is how long a kernel step has after SIGINT: its runner interrupts the cell, and ends the kernel if that is
// not enough.
const kernelInterruptWait = pawl.Duration(15 * time.Second)

// kernelJob returns what the program of a kernel step has to do.
func (e *Engine) kernelJob(w runs.Work, key pawl.Key) *pawl.KernelJob {
	session := runs.SessionOf(w)
	st := e.state.Steps[w.Step.ID]
	action := *w.Step.Kernel
	action.Out = literalPath.Replace(w.Paths([]string{action.Out})[0])
	return &pawl.KernelJob{
		Action: action, Session: session, Folder: e.cfg.Project.KernelDir(e.run, session),
		After: runs.EarlierInSession(e.plan.Plan, e.state, w), Seed: runs.CellSeed(e.plan.Plan, w, key),
		Once: !w.Step.MayRepeat(), Again: st != nil && st.Retries.Again && st.Done != 0,
	}
}

// literalPath replaces the escapes of pattern characters.
var literalPath = strings.NewReplacer(`\\`, `\`, `\*`, `*`, `\?`, `?`, `\[`, `[`)

// startKernel starts the runner of a kernel step's session, unless it is alive. It gets the environment of the step.
func (e *Engine) startKernel(ctx context.Context, job pawl.Job) error {
	own := []string{"PAWL_ATTEMPT_DIR=", "PAWL_EVENTS=", "PAWL_RESULT=", "PAWL_RESUME=", "PAWL_TOKEN="}
	env := slices.DeleteFunc(slices.Clone(job.Env), func(v string) bool {
		return slices.ContainsFunc(own, func(name string) bool { return strings.HasPrefix(v, name) })
	})
	return runner.Start(ctx, pawl.Job{
		AttemptRef: pawl.AttemptRef{Step: job.Step, Attempt: job.Attempt, Token: runs.NewToken()}, Run: job.Run, Root: job.Root,
		Dir: job.Dir, Inherited: job.Inherited, Env: append(env, runner.FolderVar+"="+job.Kernel.Folder), RunAs: job.RunAs, Kernel: job.Kernel,
		Beat: job.Beat, PIDNamespace: job.PIDNamespace,
	})
}

// endKernels ends the kernels of runs that have ended or were stopped: of this one, and of others whose engine died before it did so. Their
// variables stay saved.
func (e *Engine) endKernels(ctx context.Context) {
	ids, err := runs.List(e.cfg.Project)
	if err != nil {
		e.note("kernels: %v", err)
	}
	for _, id := range ids {
		for _, dir := range runs.SessionDirs(e.cfg.Project, id) {
			if alive, err := runner.Alive(dir); err != nil || !alive || !e.isOver(ctx, id) {
				continue
			}
			if err := runner.Stop(ctx, dir, "the run ended or was stopped"); err != nil {
				e.note("kernel %s: %v", filepath.Base(dir), err)
			}
		}
	}
}

// isOver reports whether a run has ended or was stopped.
func (e *Engine) isOver(ctx context.Context, id pawl.RunID) bool {
	s := e.state
	if id != e.run {
		var err error
		if s, err = runs.LoadState(ctx, e.cfg.Project, id); err != nil {
			return false
		}
	}
	return s.Ended() || s.Status == pawl.StatusStopped
}

// kernelLost returns which process of a kernel step died: its program, which is pawl itself, or the runner that the program needs; "" for none.
// The cells that it executed are in the session's log, so the attempt counts as one whose supervisor died: the next one continues.
func kernelLost(exit *pawl.Exit) string {
	switch {
	case exit == nil || exit.Reason != pawl.ReasonExited:
		return ""
	case exit.Signal != "":
		return "the process that executes its cells (pawl kernel-step) was killed by " + exit.Signal
	case exit.Exit != nil && *exit.Exit == runner.GoneExit:
		return "the process that runs its kernel (pawl kernel-runner) died"
	}
	return ""
}
