package remote

import (
	"testing"

	"pawl/internal/kernel"
	"pawl/internal/kernel/kerneltest"
)

func TestConformance(t *testing.T) {
	server := startServer(t, "--ServerApp.iopub_msg_rate_limit=0", "--ServerApp.iopub_data_rate_limit=0")
	for name, driver := range map[string]Driver{"v1": {}, "default": {defaultProtocol: true}} {
		t.Run(name, func(t *testing.T) {
			kerneltest.Run(t, kerneltest.Config{
				Driver:   driver,
				Displays: 2000, // TestLimits shows more
				Prepare:  func(_ testing.TB, spec *kernel.Spec) { spec.Server = server },
				Language: kerneltest.Python("from IPython.display import display, update_display, clear_output\n"),
				Can:      kerneltest.Can{Descriptors: true, Displays: true, Interrupts: true, Native: true, Children: true},
			})
		})
	}
}
