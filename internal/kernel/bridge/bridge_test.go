package bridge

import (
	"os"
	"os/exec"
	"testing"

	"pawl/internal/kernel"
	"pawl/internal/kernel/kerneltest"
)

// python returns an interpreter that needs no ipykernel.
func python(t testing.TB) kernel.Interpreter {
	t.Helper()
	path := kerneltest.PythonPath()
	if _, err := os.Stat(path); err != nil {
		if path, err = exec.LookPath("python3"); err != nil {
			t.Fatal(err)
		}
	}
	return kernel.Interpreter{Path: path, Why: "test"}
}

func TestConformance(t *testing.T) {
	kerneltest.Run(t, kerneltest.Config{
		Driver:   Driver{},
		Prepare:  func(t testing.TB, spec *kernel.Spec) { spec.Python = python(t) },
		Language: kerneltest.Python(""),
		Can:      kerneltest.Everything(),
	})
}
