//go:build !linux

package process

import "time"

// asleep is not available on this system; pawl doctor reports it.
func asleep() time.Duration { return 0 }
