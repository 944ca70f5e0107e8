package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// outcome is how a case ended; of several ways, the worst. README.md defines them.
type outcome int

const (
	unasked         outcome = iota // completed without a question
	askedWithReason                // a person was asked what no surviving file could answer
	askedNeedlessly                // a person was asked another question
	wrong                          // finished work ran again, unfinished work counted as done, or a file was lost
	outcomes                       // how many there are
)

func (c *trial) outcome() outcome {
	switch {
	case len(c.wrongs) > 0:
		return wrong
	case len(c.needless) > 0:
		return askedNeedlessly
	case len(c.stops) > 0:
		return askedWithReason
	}
	return unasked
}

// table counts the outcomes of a campaign's cases, in total and by kind of damage.
type table struct {
	all    [outcomes]int
	kinds  map[string]*[outcomes]int
	stops  map[string]int
	faults []string // one for each case that is wrong or asked needlessly
}

func newTable() *table {
	return &table{kinds: map[string]*[outcomes]int{}, stops: map[string]int{}}
}

func (t *table) add(c *trial) {
	o := c.outcome()
	t.all[o]++
	for _, kind := range c.kinds() {
		if t.kinds[kind] == nil {
			t.kinds[kind] = &[outcomes]int{}
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
		t.faults = append(t.faults, fmt.Sprintf("NEEDLESS %s\n           %s", c, n))
	}
}

// The campaign fails if more than maxNeedless percent of its cases asked needlessly. Fewer than minCases show nothing.
const (
	maxNeedless = 2
	minCases    = 200
)

// fault returns an error if a case is wrong, or too many asked needlessly.
func (t *table) fault() error {
	cases := 0
	for _, n := range t.all {
		cases += n
	}
	if t.all[wrong] > 0 || cases >= minCases && t.all[askedNeedlessly]*100 > maxNeedless*cases {
		return fmt.Errorf("of %d cases %d are wrong, and in %d a person was asked needlessly", cases, t.all[wrong], t.all[askedNeedlessly])
	}
	return nil
}

func (t *table) print(out io.Writer, took time.Duration) {
	cases := 0
	for _, n := range t.all {
		cases += n
	}
	fmt.Fprintf(out, "%-38s %6s %18s %17s %16s %6s\n", "damage", "cases", "to the end unasked", "asked with reason", "asked needlessly", "wrong")
	for _, kind := range slices.Sorted(maps.Keys(t.kinds)) {
		n := t.kinds[kind]
		fmt.Fprintf(out, "%-38s %6d %18d %17d %16d %6d\n", kind, n[0]+n[1]+n[2]+n[3], n[0], n[1], n[2], n[3])
	}
	fmt.Fprintf(out, "%-38s %6d %18d %17d %16d %6d\n", "all cases", cases, t.all[0], t.all[1], t.all[2], t.all[3])
	var asked []string
	for _, kind := range slices.Sorted(maps.Keys(t.stops)) {
		asked = append(asked, fmt.Sprintf("%s %d", kind, t.stops[kind]))
	}
	fmt.Fprintf(out, "asked: %s; %.2f s a case\n", strings.Join(asked, ", "), took.Seconds()/float64(max(1, cases)))
	for _, f := range t.faults {
		fmt.Fprintln(out, f)
	}
}
