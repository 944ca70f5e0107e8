//go:build !windows

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/disk"
	kernelstep "pawl/internal/executor/kernel"
	"pawl/internal/kernel"
	"pawl/internal/kernel/bridge"
	"pawl/internal/kernel/interpreter"
	"pawl/internal/kernel/jupyter"
	"pawl/internal/kernel/remote"
	"pawl/internal/kernel/runner"
	"pawl/internal/kernel/saver"
	"pawl/internal/kernel/variables"
	"pawl/internal/project"
	"pawl/internal/runs"
	"pawl/internal/server"
	"pawl/internal/snapshot"
)

// runKernelStep executes a kernel step. The supervisor's signals interrupt the running cell.
func runKernelStep() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	status, err := kernelstep.Step{Out: os.Stdout, Err: os.Stderr}.Run(ctx)
	switch {
	case ctx.Err() != nil:
		return 130
	case errors.Is(err, runner.ErrGone):
		fmt.Fprintf(os.Stderr, "pawl: kernel: %v\n", err)
		return runner.GoneExit
	case err != nil:
		fmt.Fprintf(os.Stderr, "pawl: kernel: %v\n", err)
		return 1
	case status == pawl.ResultFailed:
		return 1
	}
	return 0
}

// runKernel runs the kernel of a session until it is stopped.
func runKernel() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	err := func() error {
		dir := os.Getenv(runner.FolderVar)
		job, err := runner.ReadJob(dir)
		if err != nil {
			return err
		}
		driver, spec, err := kernelOf(ctx, job)
		if err != nil {
			return err
		}
		saver, err := saver.New(saver.Config{Dir: runner.Variables(dir), Environ: spec.Environ, RunAs: spec.RunAs, Quota: func() int64 { return roomForVariables(job.Root, dir) }})
		if err != nil {
			return err
		}
		err = runner.Run(ctx, runner.Config{Dir: dir, Driver: driver, Spec: spec, Saver: saver})
		return errors.Join(err, saver.Close())
	}()
	if err != nil {
		fmt.Fprintf(os.Stderr, "pawl: kernel: %v\n", err)
		return 1
	}
	return 0
}

// roomForVariables returns how many bytes the checkpoints of a session's variables may take: what the snapshots of the project, and the other
// sessions of the run, leave of the quota of snapshots.
func roomForVariables(root, dir string) int64 {
	quota := int64(snapshot.DefaultQuota)
	p, err := project.Find(root)
	if err != nil {
		return quota
	}
	if c, err := config.Of(p); err == nil {
		quota = cmp.Or(int64(c.Snapshots.Quota), quota)
	}
	return quota - sizeOf(p.Snapshots()) - (sizeOf(filepath.Dir(dir)) - sizeOf(dir))
}

// sizeOf returns the size of the files in a folder, as far as they can be read.
func sizeOf(dir string) (total int64) {
	entries, err := disk.ReadDir(dir)
	if err != nil {
		return 0
	}
	for _, entry := range entries {
		info, err := entry.Info()
		switch {
		case err != nil: // deleted meanwhile
		case info.IsDir():
			total += sizeOf(filepath.Join(dir, entry.Name()))
		case info.Mode().IsRegular():
			total += info.Size()
		}
	}
	return total
}

// kernelOf chooses the driver and the interpreter of a kernel.
func kernelOf(ctx context.Context, job *pawl.Job) (kernel.Driver, kernel.Spec, error) {
	a := job.Kernel.Action
	spec := kernel.Spec{Name: a.Name, Dir: job.Dir, Project: job.Root, Environ: withoutOwn(os.Environ()), RunAs: job.RunAs, ProjectKernels: true, StartLimit: time.Duration(a.StartTimeout)}
	a.Name = kernelInNotebook(job, spec)
	spec.Name = a.Name
	if a.Driver == pawl.RemoteDriver {
		spec.Server = kernel.Server{URL: a.Server, Token: os.Getenv(kernelstep.TokenVar)}
		return remote.Driver{}, spec, nil
	}
	isPython := a.Name == "" || a.Name == "python3" || a.Name == "python"
	choose := interpreter.Config{Setting: a.Python, Project: job.Root, Environ: spec.Environ}
	if isPython {
		choose.Kernelspec = jupyter.Program(spec)
	}
	python, err := interpreter.Choose(choose)
	if err != nil && (isPython || a.Driver == pawl.PythonDriver) {
		return nil, spec, err
	}
	if err == nil {
		spec.Python, spec.Environ = python.Interpreter, python.Environment(spec.Environ)
	}
	switch {
	case a.Driver == pawl.PythonDriver && !isPython:
		return nil, spec, fmt.Errorf("driver python runs Python only, not kernel %q; use driver jupyter", a.Name)
	case a.Driver == pawl.PythonDriver:
		return bridge.Driver{}, spec, nil
	case a.Driver == "" && isPython:
		err := python.Require(ctx, os.Environ(), job.RunAs, "ipykernel", "jupyter_client")
		if errors.Is(err, interpreter.ErrMissing) {
			return bridge.Driver{}, spec, nil
		}
		if err != nil {
			return nil, spec, err
		}
	}
	return jupyter.Driver{}, spec, nil
}

// withoutOwn returns an environment without what is meant for pawl itself.
func withoutOwn(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(v string) bool {
		return strings.HasPrefix(v, runner.FolderVar+"=") || strings.HasPrefix(v, kernelstep.TokenVar+"=")
	})
}

// savedVariables returns the variables in the newest checkpoint of the kernel in which a step runs or ran.
func savedVariables(ctx context.Context, p *project.Project, run pawl.RunID, id pawl.StepID) ([]server.Variable, error) {
	r, err := runs.Load(ctx, p, run)
	if err != nil {
		return nil, err
	}
	defer r.Log.Close()
	step := r.Plan.Step(id)
	if step == nil || step.Kernel == nil || step.Foreach != nil {
		return nil, nil
	}
	dir := runner.Variables(p.KernelDir(run, runs.SessionOf(runs.Work{Step: step, Index: -1})))
	if !disk.Exists(dir) {
		return nil, nil
	}
	store, err := variables.Open(dir)
	if err != nil {
		return nil, err
	}
	manifests, err := store.List()
	if err != nil || len(manifests) == 0 {
		return nil, err
	}
	newest := manifests[len(manifests)-1]
	var list []server.Variable
	for _, v := range newest.Variables {
		shown := server.Variable{Name: v.Name, Type: v.Type, Bytes: v.Memory, Hash: v.Hash, Saved: true}
		if len(v.Shape) > 0 {
			shown.Shape = strings.ReplaceAll(strings.Trim(fmt.Sprint(v.Shape), "[]"), " ", " × ")
		}
		list = append(list, shown)
	}
	for _, v := range newest.Unsaved {
		list = append(list, server.Variable{Name: v.Name, Type: v.Type})
	}
	return list, nil
}
