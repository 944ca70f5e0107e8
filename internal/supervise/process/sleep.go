package process

import "time"

// SleepClock measures how long the machine slept between two calls of Slept.
type SleepClock struct{ before time.Duration }

// NewSleepClock returns a clock that measures from now on.
func NewSleepClock() *SleepClock { return &SleepClock{before: asleep()} }

// Slept returns how long the machine slept since the call before.
func (c *SleepClock) Slept() time.Duration {
	now := asleep()
	slept := now - c.before
	c.before = now
	return slept
}
