package planlint

import (
	"fmt"
	"strings"

	"pawl"
	"pawl/internal/kernel"
	"pawl/internal/kernel/interpreter"
	"pawl/internal/kernel/jupyter"
	"pawl/internal/strictyaml"
)

// Kernels returns warnings about kernels and interpreters of a plan that are not on this machine, as [*strictyaml.Faults], nil if there are
// none. An earlier step may create them. root is that of the project.
func Kernels(name string, plan *pawl.Plan, file *strictyaml.File, root string, environ []string) error {
	l := linter{file.Without()}
	for _, step := range plan.Steps() {
		if step.Kernel == nil || ownPaths(plan.EnvOf(step)) {
			continue
		}
		if err := MissingKernel(*step.Kernel, root, environ); err != nil {
			at := any(&step.Kernel.Name)
			if step.Kernel.Python != "" {
				at = &step.Kernel.Python
			}
			if !l.Given(at) {
				at = &step.Kernel
			}
			l.Errorf(at, "%v; the step fails unless an earlier step installs it", err)
		}
	}
	return l.Err(name)
}

// ownPaths reports whether a step has other places for kernels and interpreters.
func ownPaths(env pawl.Env) bool {
	for _, name := range []string{"PATH", "HOME", "VIRTUAL_ENV", "JUPYTER_PATH", "JUPYTER_DATA_DIR"} {
		if _, set := env[name]; set {
			return true
		}
	}
	return false
}

// MissingKernel returns an error if the kernel or the interpreter of an action is not on this machine. It runs nothing.
func MissingKernel(a pawl.KernelAction, root string, environ []string) error {
	if a.Driver == pawl.RemoteDriver || strings.Contains(a.Python, "$") {
		return nil
	}
	python, err := interpreter.Choose(interpreter.Config{Setting: a.Python, Project: root, Environ: environ})
	if err != nil && a.Python != "" {
		return err
	}
	if a.Name == "" || a.Name == "python3" || a.Name == "python" {
		return nil
	}
	if a.Driver == pawl.PythonDriver {
		return fmt.Errorf("driver python runs Python only, not kernel %q; use driver jupyter", a.Name)
	}
	return jupyter.Find(kernel.Spec{Name: a.Name, Project: root, Environ: python.Environment(environ), Python: python.Interpreter, ProjectKernels: true})
}
