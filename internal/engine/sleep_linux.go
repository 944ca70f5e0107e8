package engine

import (
	"time"

	"golang.org/x/sys/unix"
)

// asleep returns how long the machine has been asleep since it was started: the boot clock runs on in sleep,
// the monotonic clock does not.
func asleep() time.Duration {
	var boot, mono unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot) != nil || unix.ClockGettime(unix.CLOCK_MONOTONIC, &mono) != nil {
		return 0
	}
	return time.Duration(boot.Nano() - mono.Nano())
}
