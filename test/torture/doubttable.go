package main

import (
	"fmt"
	"io"

	"pawl"
	"pawl/test/torture/scripted"
)

// verdicts are all of them, in the order of the table.
var verdicts = []pawl.OperationVerdict{pawl.OperationDone, pawl.OperationNotDone, pawl.OperationPartly, pawl.OperationUnknown}

// truths are all of them, in the order of the table. What still runs stands for itself.
var truths = []scripted.Truth{
	scripted.Nothing, scripted.Something, scripted.Everything, scripted.AsBefore, scripted.Rewritten, scripted.Traceless, running,
}

const running scripted.Truth = "still runs"

// row is what a verdict was given on.
type row struct {
	sort  scripted.Sort
	truth scripted.Truth
}

// local reports whether what the verdict was given on leaves something here.
func (r row) local() bool { return r.sort.Local() && r.truth != scripted.Traceless }

// counts are how often each verdict was given on what.
type counts struct {
	deaths int
	rows   map[row]map[pawl.OperationVerdict]int
	blind  int      // verdicts on what has local effects that say nothing, where nothing here could tell
	silent []string // verdicts that say nothing where something here could have told
}

func newCounts() *counts {
	return &counts{rows: map[row]map[pawl.OperationVerdict]int{}}
}

func (c *counts) count(r row, still bool, v pawl.OperationVerdict) {
	if still {
		r.truth = running
	}
	if c.rows[r] == nil {
		c.rows[r] = map[pawl.OperationVerdict]int{}
	}
	c.rows[r][v]++
}

func (c *counts) add(other *counts) {
	c.deaths += other.deaths
	for r, verdicts := range other.rows {
		for v, n := range verdicts {
			if c.rows[r] == nil {
				c.rows[r] = map[pawl.OperationVerdict]int{}
			}
			c.rows[r][v] += n
		}
	}
	c.blind += other.blind
	c.silent = append(c.silent, other.silent...)
}

// print prints a line for each sort of call and each truth, and the sums.
func (c *counts) print(out io.Writer) {
	line := func(a, b string, n map[pawl.OperationVerdict]int) {
		total := 0
		for _, v := range verdicts {
			total += n[v]
		}
		if total > 0 {
			fmt.Fprintf(out, "%-14s %-12s %8d %8d %8d %8d %8d\n", a, b, total, n[verdicts[0]], n[verdicts[1]], n[verdicts[2]], n[verdicts[3]])
		}
	}
	fmt.Fprintf(out, "%-14s %-12s %8s %8s %8s %8s %8s\n", "operation", "truth", "in doubt", "done", "not done", "partly", "unknown")
	for _, sort := range scripted.Sorts {
		for _, truth := range truths {
			line(string(sort), string(truth), c.rows[row{sort, truth}])
		}
	}
	for _, truth := range truths {
		line("all", string(truth), c.sum(func(r row) bool { return r.truth == truth }))
	}
	told, all := c.decided()
	fmt.Fprintf(out, "%d deaths; of %d verdicts on file writes and commands with local effects %d are done, not done or partly (%.1f %%);\n"+
		"%d are unknown where nothing here could tell, and %d where something could (%.1f %% of those of which anything could tell)\n",
		c.deaths, all, told, percent(told, all), c.blind, len(c.silent), percent(len(c.silent), all-c.blind))
	for _, line := range c.silent[:min(len(c.silent), mostSilent)] {
		fmt.Fprintln(out, line)
	}
}

func percent(n, of int) float64 { return 100 * float64(n) / float64(max(1, of)) }

// mostSilent is how many verdicts that say nothing are printed.
const mostSilent = 20

func (c *counts) sum(which func(row) bool) map[pawl.OperationVerdict]int {
	total := map[pawl.OperationVerdict]int{}
	for r, n := range c.rows {
		if which(r) {
			for v, k := range n {
				total[v] += k
			}
		}
	}
	return total
}

// decided counts the verdicts on what has local effects, and those of them that say something.
func (c *counts) decided() (told, all int) {
	for v, n := range c.sum(func(r row) bool { return r.sort.Local() }) {
		all += n
		if v != pawl.OperationUnknown {
			told += n
		}
	}
	return told, all
}

// leastDecided is how many of a hundred verdicts on what has local effects must say something. Of fewer than minCases that
// says nothing.
const leastDecided = 95

// fault is what the counts came to, as an error.
func (c *counts) fault() error {
	told, all := c.decided()
	if all -= c.blind; all >= minCases && told*100 < leastDecided*all {
		return fmt.Errorf("of %d verdicts on what has local effects, and left something to tell by, only %d say something", all, told)
	}
	return nil
}
