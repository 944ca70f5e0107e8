//go:build !linux

package engine

import "time"

// asleep is not known here; `pawl doctor` says so.
func asleep() time.Duration { return 0 }
