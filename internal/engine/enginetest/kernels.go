package enginetest

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"pawl"
	kernelstep "pawl/internal/executor/kernel"
	"pawl/internal/kernel"
	"pawl/internal/kernel/bridge"
	"pawl/internal/kernel/interpreter"
	"pawl/internal/kernel/runner"
	"pawl/internal/kernel/saver"
)

// runKernelStep does an attempt at a kernel step.
func runKernelStep(ctx context.Context) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	status, err := kernelstep.Step{Out: os.Stdout, Err: os.Stderr}.Run(ctx)
	if err == nil && status == pawl.ResultFailed {
		err = errors.New("the step failed")
	}
	return err
}

// runKernel runs the Python kernel of a session until it is stopped.
func runKernel(ctx context.Context) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	dir := os.Getenv(runner.FolderVar)
	job, err := runner.ReadJob(dir)
	if err != nil {
		return err
	}
	python, err := interpreter.Choose(interpreter.Config{Project: job.Root, Environ: os.Environ()})
	if err != nil {
		return err
	}
	spec := kernel.Spec{Dir: job.Dir, Project: job.Root, Environ: python.Environment(os.Environ()), Python: python.Interpreter}
	s, err := saver.New(saver.Config{Dir: runner.Variables(dir), Environ: spec.Environ})
	if err != nil {
		return err
	}
	err = runner.Run(ctx, runner.Config{Dir: dir, Driver: bridge.Driver{}, Spec: spec, Saver: s})
	return errors.Join(err, s.Close())
}
