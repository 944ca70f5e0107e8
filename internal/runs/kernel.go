package runs

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"strings"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/notebook"
	"pawl/internal/project"
	"pawl/internal/supervise"
)

// DefaultSession is the kernel session of the steps that name none.
const DefaultSession = "main"

// SessionOf returns the name of the kernel session of a step. Each item of a foreach step has a session of its own.
func SessionOf(w Work) string {
	switch {
	case w.Index >= 0:
		return string(w.Step.ID) + "." + string(w.Item())
	case w.Step.Kernel.Session != "":
		return w.Step.Kernel.Session
	}
	return DefaultSession
}

// EarlierInSession returns the finished steps before a step that share its session, in the order of the plan.
func EarlierInSession(plan *pawl.Plan, state *pawl.State, w Work) (ids []pawl.StepID) {
	session := SessionOf(w)
	for _, s := range plan.Steps() {
		if s.ID == w.Step.ID {
			break
		}
		done := state.Steps[s.ID] != nil && state.Steps[s.ID].Status == pawl.Done
		if done && s.Kernel != nil && s.Foreach == nil && SessionOf(Work{Step: s, Index: -1}) == session {
			ids = append(ids, s.ID)
		}
	}
	return ids
}

// SessionDirs returns the folders of the kernel sessions of a run.
func SessionDirs(p *project.Project, run pawl.RunID) []string {
	entries, err := disk.ReadDir(p.KernelsDir(run))
	if err != nil {
		return nil // none was started
	}
	var dirs []string
	for _, entry := range entries {
		if entry.IsDir() {
			dirs = append(dirs, p.KernelDir(run, entry.Name()))
		}
	}
	return dirs
}

// endKernels ends the live kernels of a run. Their variables stay saved.
func endKernels(ctx context.Context, p *project.Project, run pawl.RunID, why string, notice func(string)) error {
	var kernels []supervised
	for _, dir := range SessionDirs(p, run) {
		if !AttemptAlive(dir) {
			continue
		}
		if err := supervise.RequestAbort(dir, pawl.Abort{Reason: pawl.ReasonAbort, Why: why}); err != nil {
			return err
		}
		kernels = append(kernels, supervised{"kernel " + filepath.Base(dir), dir})
	}
	return awaitEnd(ctx, kernels, notice)
}

// CellSeed returns the hash of what the cells of a kernel step depend on besides their code: if it changes, all of them run again.
func CellSeed(plan *pawl.Plan, w Work, key pawl.Key) string {
	step := *w.Step
	k := step.Kernel
	step.Kernel = &pawl.KernelAction{Name: k.Name, Driver: k.Driver, Python: k.Python, Server: k.Server}
	seed := pawl.Key{Definition: pawl.DefinitionOf(plan, &step, w.Value), Needs: key.Needs, Inputs: pawl.Outputs{}}
	for path, input := range key.Inputs {
		if path != cellsInput(k.File) {
			seed.Inputs[path] = input
		}
	}
	return seed.Hash()
}

// cellsInput names the cells of a notebook among the inputs of a key. The outputs in the file are not part of it.
func cellsInput(file string) string { return file + " (cells)" }

// withCells adds the code that a kernel step executes from a file to the inputs of its key.
func withCells(root string, step *pawl.Step, inputs pawl.Outputs) (pawl.Outputs, error) {
	data, err := disk.ReadFile(filepath.Join(root, filepath.FromSlash(step.Kernel.File)), notebook.MaxSize)
	if err != nil {
		return nil, err
	}
	code := notebook.Key("", string(data))
	if IsNotebook(step.Kernel.File) {
		n, err := notebook.Read(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", step.Kernel.File, err)
		}
		for _, key := range notebook.Keys(n.Cells, "") {
			code = cmp.Or(key, code)
		}
	}
	all := pawl.Outputs{cellsInput(step.Kernel.File): {SHA256: code, Files: 1}}
	maps.Copy(all, inputs)
	return all, nil
}

// IsNotebook reports whether a file is a notebook.
func IsNotebook(file string) bool { return strings.HasSuffix(file, ".ipynb") }
