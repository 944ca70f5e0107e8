package main

import (
	"fmt"
	"io"

	"pawl"
	"pawl/test/torture/scripted"
)

// verdicts are all of them, in the order of the table.
var verdicts = []pawl.OperationVerdict{pawl.OperationDone, pawl.OperationNotDone, pawl.OperationPartly, pawl.OperationUnknown, "refused"}

// truths are all of them, in the order of the table. A call that still runs has its own row.
var truths = []scripted.Truth{
	scripted.Nothing, scripted.Something, scripted.Everything, scripted.AsBefore, scripted.Rewritten, scripted.Traceless, running,
}

const running scripted.Truth = "still runs"

// row is a kind of call on which verdicts are counted.
type row struct {
	sort  scripted.Sort
	truth scripted.Truth
}

// local reports whether such calls leave effects on this machine.
func (r row) local() bool { return r.sort.Local() && r.truth != scripted.Traceless }

// counts are the numbers of verdicts in each row.
type counts struct {
	deaths                                  int
	dropped                                 int // stories on an overloaded machine
	rows                                    map[row]map[pawl.OperationVerdict]int
	blind                                   int      // verdicts "unknown" on calls with local effects that nothing on this machine could show
	refused, failures, failuresListed, left int      // how many refused calls, failed calls and processes the briefs could have named
	unnamed                                 []string // leftover processes that are not named
	silent                                  []string // verdicts "unknown" where local evidence existed
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
	c.refused, c.failures, c.failuresListed, c.left = c.refused+other.refused, c.failures+other.failures, c.failuresListed+other.failuresListed, c.left+other.left
	c.unnamed = append(c.unnamed, other.unnamed...)
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
			fmt.Fprintf(out, "%-14s %-12s %8d %8d %8d %8d %8d %8d\n", a, b, total, n[verdicts[0]], n[verdicts[1]], n[verdicts[2]], n[verdicts[3]], n[verdicts[4]])
		}
	}
	fmt.Fprintf(out, "%-14s %-12s %8s %8s %8s %8s %8s %8s\n", "operation", "truth", "in doubt", "done", "not done", "partly", "unknown", "refused")
	for _, sort := range scripted.Sorts {
		for _, truth := range truths {
			line(string(sort), string(truth), c.rows[row{sort, truth}])
		}
	}
	for _, truth := range truths {
		line("all", string(truth), c.sum(func(r row) bool { return r.truth == truth }))
	}
	decided, all := c.decided()
	fmt.Fprintf(out, "%d deaths; of %d verdicts on file writes and commands with local effects %d are done, not done or partly (%.1f %%);\n"+
		"%d are unknown without local evidence, and %d with local evidence (%.1f %% of the verdicts with local evidence)\n",
		c.deaths, all, decided, percent(decided, all), c.blind, len(c.silent), percent(len(c.silent), all-c.blind))
	fmt.Fprintf(out, "refused calls that a brief could have proposed: %d, proposed: 0; failed calls of unfinished turns: %d, in the brief: %d;\n"+
		"calls that left processes: %d, not named in the brief or by pawl processes: %d\n", c.refused, c.failures, c.failuresListed, c.left, len(c.unnamed))
	if c.dropped > 0 {
		fmt.Fprintf(out, "stories that were dropped because a hook took longer than its time limit: %d\n", c.dropped)
	}
	for _, line := range c.unnamed[:min(len(c.unnamed), mostSilent)] {
		fmt.Fprintln(out, line)
	}
	for _, line := range c.silent[:min(len(c.silent), mostSilent)] {
		fmt.Fprintln(out, line)
	}
}

func percent(n, of int) float64 { return 100 * float64(n) / float64(max(1, of)) }

// mostSilent is how many of the silent verdicts are printed.
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

// decided counts the verdicts on calls with local effects, and those of them other than unknown.
func (c *counts) decided() (decided, all int) {
	for v, n := range c.sum(func(r row) bool { return r.sort.Local() }) {
		all += n
		if v != pawl.OperationUnknown {
			decided += n
		}
	}
	return decided, all
}

// leastDecided is the least percentage of verdicts on calls with local effects that must not be unknown. Fewer than minCases are too few
// to judge.
const leastDecided = 95

// fault returns an error if the counts are not good enough.
func (c *counts) fault() error {
	if len(c.unnamed) > 0 {
		return fmt.Errorf("%d leftover processes of calls are not named", len(c.unnamed))
	}
	if c.dropped*deathsEach > c.deaths {
		return fmt.Errorf("%d stories were dropped: the machine is overloaded, or hooks hang", c.dropped)
	}
	decided, all := c.decided()
	if all -= c.blind; all >= minCases && decided*100 < leastDecided*all {
		return fmt.Errorf("of %d verdicts with local evidence, only %d are not unknown", all, decided)
	}
	return nil
}
