package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// outcome is how a case came out, the worst of it.
type outcome int

const (
	unasked   outcome = iota // to its end, and nobody was asked
	rightly                  // somebody was asked what nothing that survived could tell
	idly                     // somebody was asked in vain
	wrongly                  // finished work done again, unfinished work called done, or a file lost
	lastOfAll                // how many there are
)

func (c *trial) outcome() outcome {
	switch {
	case len(c.wrongs) > 0:
		return wrongly
	case len(c.needless) > 0:
		return idly
	case len(c.stops) > 0:
		return rightly
	}
	return unasked
}

// table counts how the cases of the campaign came out, in all and by kind of damage.
type table struct {
	all    [lastOfAll]int
	kinds  map[string]*[lastOfAll]int
	stops  map[string]int
	faults []string // one for each case that is wrong or was asked in vain
}

func newTable() *table {
	return &table{kinds: map[string]*[lastOfAll]int{}, stops: map[string]int{}}
}

func (t *table) add(c *trial) {
	o := c.outcome()
	t.all[o]++
	for _, kind := range c.kinds() {
		if t.kinds[kind] == nil {
			t.kinds[kind] = &[lastOfAll]int{}
		}
		t.kinds[kind][o]++
	}
	for _, s := range c.stops {
		t.stops[s.kind]++
	}
	for _, w := range c.wrongs {
		t.faults = append(t.faults, fmt.Sprintf("WRONG    %s\n           %s", c, w))
	}
	for _, n := range c.needless {
		t.faults = append(t.faults, fmt.Sprintf("needless %s\n           %s", c, n))
	}
}

// mostIdle is how many cases in a hundred may ask in vain. Of fewer cases than enough that says nothing.
const (
	mostIdle = 2
	enough   = 200
)

// fault is what the campaign came to, as an error.
func (t *table) fault() error {
	cases := 0
	for _, n := range t.all {
		cases += n
	}
	if t.all[wrongly] > 0 || cases >= enough && t.all[idly]*100 > mostIdle*cases {
		return fmt.Errorf("of %d cases %d were wrong, and in %d a person was asked in vain", cases, t.all[wrongly], t.all[idly])
	}
	return nil
}

func (t *table) print(out io.Writer, took time.Duration) {
	cases := 0
	for _, n := range t.all {
		cases += n
	}
	fmt.Fprintf(out, "%-38s %6s %8s %8s %8s %6s\n", "damage", "cases", "unasked", "rightly", "in vain", "wrong")
	for _, kind := range slices.Sorted(maps.Keys(t.kinds)) {
		n := t.kinds[kind]
		fmt.Fprintf(out, "%-38s %6d %8d %8d %8d %6d\n", kind, n[0]+n[1]+n[2]+n[3], n[0], n[1], n[2], n[3])
	}
	fmt.Fprintf(out, "%-38s %6d %8d %8d %8d %6d\n", "all cases", cases, t.all[0], t.all[1], t.all[2], t.all[3])
	var asked []string
	for _, kind := range slices.Sorted(maps.Keys(t.stops)) {
		asked = append(asked, fmt.Sprintf("%s %d", kind, t.stops[kind]))
	}
	fmt.Fprintf(out, "asked: %s; %.2f s a case\n", strings.Join(asked, ", "), took.Seconds()/float64(max(1, cases)))
	for _, f := range t.faults {
		fmt.Fprintln(out, f)
	}
}
