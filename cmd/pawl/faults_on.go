//go:build faults && !windows

package main

import (
	"os"

	"pawl/internal/disk/disktest"
	"pawl/internal/supervise/process"
)

// injectFaults has tests crash pawl between any two calls that change the disk, and has it believe in another boot of the system.
func injectFaults() {
	disktest.Inject()
	if boot := os.Getenv("PAWL_FAULT_BOOT"); boot != "" {
		process.BootID = func() string { return boot }
	}
}
