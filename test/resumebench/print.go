package main

import (
	"fmt"
	"slices"
	"strings"
)

// result is the result of one tool.
type result struct {
	Tool      string   `json:"tool"`
	Total     score    `json:"total"`
	Largest   int      `json:"largest"` // characters
	Scenarios []scored `json:"scenarios"`
}

type scored struct {
	Name  string `json:"name"`
	Score score  `json:"score"`
}

// total adds the scores; characters and milliseconds are medians.
func (r *result) total() {
	var all []score
	var sizes []int
	var times []float64
	for _, s := range r.Scenarios {
		all, sizes, times = append(all, s.Score), append(sizes, s.Score.Characters), append(times, s.Score.Millis)
	}
	slices.Sort(sizes)
	slices.Sort(times)
	r.Total = sum(all)
	r.Total.Characters, r.Largest, r.Total.Millis = sizes[len(sizes)/2], sizes[len(sizes)-1], times[len(times)/2]
}

// print writes the tables in Markdown.
func (b *bench) print(all []result) {
	fmt.Fprintf(b.out, "%d scenarios.\n\n", len(b.scenarios))
	row := func(cells ...string) { fmt.Fprintln(b.out, "| "+strings.Join(cells, " | ")+" |") }
	row("tool", "in doubt, reported", "verdicts right", "invented", "finished, proposed again", "refused, proposed again", "unfinished, called finished", "characters (largest)", "ms")
	row("---", "---", "---", "---", "---", "---", "---", "---", "---")
	for _, r := range all {
		t := r.Total
		row(r.Tool, t.Doubts.String(), t.Verdicts.String(), fmt.Sprint(t.Invented), t.Again.String(), t.Refused.String(), t.Lost.String(),
			fmt.Sprintf("%d (%d)", t.Characters, r.Largest), fmt.Sprintf("%.0f", t.Millis))
	}
	fmt.Fprintln(b.out)
	row("tool", "open work reported", "failures reported", "refusals reported", "running processes reported")
	row("---", "---", "---", "---", "---")
	for _, r := range all {
		row(r.Tool, r.Total.Open.String(), r.Total.Failures.String(), r.Total.Refusals.String(), r.Total.Running.String())
	}
	b.printLost(row, all)
	if b.verbose {
		b.printEach(all)
	}
}

// printLost writes how many points each tool lost in each scenario.
func (b *bench) printLost(row func(...string), all []result) {
	fmt.Fprintln(b.out)
	heads, rule := []string{"points lost in scenario"}, []string{"---"}
	for _, r := range all {
		heads, rule = append(heads, r.Tool), append(rule, "---")
	}
	row(heads...)
	row(rule...)
	total := make([]int, len(all))
	for i, sc := range b.scenarios {
		cells := []string{sc.Name}
		for k, r := range all {
			lost := len(r.Scenarios[i].Score.Wrong)
			total[k] += lost
			cells = append(cells, fmt.Sprint(lost))
		}
		row(cells...)
	}
	cells := []string{"**all**"}
	for _, n := range total {
		cells = append(cells, fmt.Sprintf("**%d**", n))
	}
	row(cells...)
}

// printEach writes what each tool lost in each scenario.
func (b *bench) printEach(all []result) {
	for i, sc := range b.scenarios {
		fmt.Fprintf(b.out, "\n## %s\n%s\n", sc.Name, strings.TrimSpace(sc.About))
		for _, r := range all {
			s := r.Scenarios[i].Score
			fmt.Fprintf(b.out, "- %s: %d characters, %.0f ms, %d lost\n", r.Tool, s.Characters, s.Millis, len(s.Wrong))
			for _, w := range s.Wrong {
				fmt.Fprintf(b.out, "  - %s\n", w)
			}
		}
	}
}
