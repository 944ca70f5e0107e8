package kernels

import (
	"fmt"
	"strings"
	"sync"
)

// tally counts kills.
type tally struct {
	mu      sync.Mutex // guards the rest
	stories int
	kills   map[string]int
}

func newTally() *tally { return &tally{kills: map[string]int{}} }

func (c *tally) add(strikes []strike) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stories++
	for _, k := range strikes {
		c.kills[k.part]++
	}
}

func (c *tally) deaths() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.kills {
		n += k
	}
	return n
}

// String says how many kills there were, and of which parts.
func (c *tally) String() string {
	all := make([]string, len(parts))
	for i, part := range parts {
		all[i] = fmt.Sprintf("%s %d", part, c.kills[part])
	}
	return fmt.Sprintf("%d kills in %d stories: %s", c.deaths(), c.stories, strings.Join(all, ", "))
}
