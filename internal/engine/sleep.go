package engine

import "time"

// sleepClock tells how long the machine has slept since it was last asked.
type sleepClock struct{ before time.Duration }

func newSleepClock() *sleepClock { return &sleepClock{before: asleep()} }

func (c *sleepClock) slept() time.Duration {
	now := asleep()
	slept := now - c.before
	c.before = now
	return slept
}
