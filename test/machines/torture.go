//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"time"
)

// torture carries out a plan while it kills, and judges what comes out.
func torture(o options) (err error) {
	c, err := newCluster(o)
	if err != nil {
		return err
	}
	person := &operator{cluster: c, approved: map[string]int{}}
	defer func() {
		if closeErr := c.close(); err != nil || closeErr != nil {
			err = errors.Join(err, closeErr, fmt.Errorf("kept in %s; to repeat: go run ./test/machines -seed %d -steps %d -kills %d", c.dir, o.seed, o.steps, o.kills))
		} else if o.folder == "" {
			err = os.RemoveAll(c.dir)
		}
	}()
	steps := makePlan(o.dice("plan"), o.steps, 40)
	if err := person.setUp(steps); err != nil {
		return err
	}
	began := time.Now()
	over := make(chan error, 1)
	go func() { over <- person.work() }()
	if err := person.started(); err != nil {
		return err
	}
	s := &striker{operator: person, dice: o.dice("kills"), done: make(chan struct{}), count: map[string]int{}}
	struck := make(chan error, 1)
	go func() { struck <- s.strikes() }()
	stalled := make(chan error, 1)
	go func() { stalled <- person.stalls(s.done) }()
	select {
	case err = <-over:
	case err = <-stalled:
	}
	close(s.done)
	if err = errors.Join(err, <-struck); err != nil {
		return err
	}
	s.report()
	v, err := person.judge(steps)
	fmt.Fprintf(o.out, "run %s: %d steps, %d executions, %d unproven ends, %d epochs, %s\n", person.run, len(steps), v.executions, v.unproven, v.epochs, time.Since(began).Round(time.Second))
	return err
}
