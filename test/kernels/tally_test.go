package kernels

import (
	"fmt"
	"strings"
	"sync"
)

// findings are what the audit of a story counts.
type findings struct {
	executed  int // cells
	repeated  int // executions of cells that a kill had cut short
	again     int // executions of finished cells
	bytes     int // of output that kernels sent for finished cells
	lost      int // of these, bytes that the notebook does not have
	compared  int // hashes of variables
	different int // of these, hashes that are not those of a story that nobody harmed
}

func (f *findings) add(g findings) {
	f.executed += g.executed
	f.repeated += g.repeated
	f.again += g.again
	f.bytes += g.bytes
	f.lost += g.lost
	f.compared += g.compared
	f.different += g.different
}

// tally counts kills and findings.
type tally struct {
	mu      sync.Mutex // guards the rest
	stories int
	spared  int // stories without a kill
	kills   map[string]int
	found   findings
}

func newTally() *tally { return &tally{kills: map[string]int{}} }

// add adds a story that was compared.
func (c *tally) add(s *story) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stories++
	if len(s.strikes) == 0 {
		c.spared++
	}
	for _, k := range s.strikes {
		c.kills[k.part]++
	}
	c.found.add(s.found)
}

func (c *tally) deaths() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sum()
}

// sum returns the number of kills. The caller holds mu.
func (c *tally) sum() (n int) {
	for _, k := range c.kills {
		n += k
	}
	return n
}

// String says how many kills there were, of which parts, and what they did.
func (c *tally) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]string, len(parts))
	for i, part := range parts {
		all[i] = fmt.Sprintf("%s %d", part, c.kills[part])
	}
	f := c.found
	return fmt.Sprintf("%d kills in %d stories, %d of them without one: %s; %d cells executed, %d of them repeated, %d finished ones; "+
		"%d of %d bytes of output lost; %d of %d hashes different",
		c.sum(), c.stories, c.spared, strings.Join(all, ", "), f.executed, f.repeated, f.again, f.lost, f.bytes, f.different, f.compared)
}
