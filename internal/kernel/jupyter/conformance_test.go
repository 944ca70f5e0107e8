package jupyter_test

import (
	"testing"

	"pawl/internal/kernel"
	"pawl/internal/kernel/jupyter"
	"pawl/internal/kernel/kerneltest"
)

func TestConformancePython(t *testing.T) {
	can := kerneltest.Everything()
	can.Order = false   // ipykernel reads the descriptors in a thread of its own
	can.Durable = false // what is printed waits for that thread
	can.Threads = false // before ipykernel 6.30 a thread prints for the cell that runs
	kerneltest.Run(t, kerneltest.Config{
		Driver:   jupyter.Driver{},
		Displays: 2000, // TestLosesNothing shows more
		Prepare: func(_ testing.TB, spec *kernel.Spec) {
			spec.Python = kernel.Interpreter{Path: kerneltest.PythonPath(), Why: "test"}
		},
		Language: kerneltest.Python("from IPython.display import display, update_display, clear_output\n"),
		Can:      can,
	})
}
