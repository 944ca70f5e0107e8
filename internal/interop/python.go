package interop

import (
	"os"

	"pawl"
	"pawl/internal/kernel"
	"pawl/internal/kernel/interpreter"
	"pawl/internal/project"
)

// pythonOf returns the interpreter of a plan's kernel steps, or else of the project, and its packages. It runs nothing.
func pythonOf(root string, plan *pawl.Plan) (path string, packages []string) {
	setting := ""
	if plan != nil {
		for _, s := range plan.Steps() {
			if s.Kernel != nil && s.Kernel.Python != "" {
				setting = s.Kernel.Python
				break
			}
		}
	}
	python, err := interpreter.Choose(interpreter.Config{Setting: setting, Project: root, Environ: os.Environ()})
	if err != nil {
		return "", nil
	}
	return python.Path, interpreter.Packages(python.Path)
}

// kernelOf returns where the newest attempt at a kernel step ended; a zero report if none did.
func kernelOf(p *project.Project, state *pawl.State, id pawl.StepID) kernel.Report {
	st := state.Steps[id]
	if st == nil || st.Retries.Attempt == 0 {
		return kernel.Report{}
	}
	return kernel.ReadReport(p.AttemptDir(pawl.AttemptRef{Step: id, Attempt: st.Retries.Attempt}, state.Run))
}
