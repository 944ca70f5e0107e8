//go:build faults && !windows

package main

import "pawl/internal/disk/disktest"

// injectFaults has tests crash pawl between any two calls that change the disk.
func injectFaults() { disktest.Inject() }
