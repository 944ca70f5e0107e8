package process

import (
	"time"

	"golang.org/x/sys/unix"
)

// asleep returns how long the machine has slept since boot: CLOCK_BOOTTIME counts sleep, CLOCK_MONOTONIC does not.
func asleep() time.Duration {
	var boot, mono unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot) != nil || unix.ClockGettime(unix.CLOCK_MONOTONIC, &mono) != nil {
		return 0
	}
	return time.Duration(boot.Nano() - mono.Nano())
}
