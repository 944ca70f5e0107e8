package engine

import "time"

// sleepClock measures how long the machine slept between two calls.
type sleepClock struct{ before time.Duration }

func newSleepClock() *sleepClock { return &sleepClock{before: asleep()} }

func (c *sleepClock) slept() time.Duration {
	now := asleep()
	slept := now - c.before
	c.before = now
	return slept
}
