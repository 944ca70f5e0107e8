package main

import (
	"fmt"
	"slices"
	"time"
)

// line is one line of the table.
type line struct{ work, yardstick, measured, ratio, goal, met string }

// goal is what a line should reach; zero values demand nothing.
type goal struct {
	ratio float64       // of the work's time to the yardstick's, at most
	rate  float64       // of the yardstick's time to the work's, at least
	limit time.Duration // of the work, at most
}

// measured is what came of a measurement: the medians of its rounds.
type measured struct {
	work, yardstick time.Duration
	ratio           float64 // median of the rounds' ratios
	per             int     // what the times are divided by for people
}

// inTurns measures work and yardstick in turns, each time one after the other, and warms both up once. The shorter they are
// and the more rounds there are, the less do others on the machine matter.
func inTurns(rounds, per int, work, yardstick func() (time.Duration, error)) (measured, error) {
	var works, yardsticks []time.Duration
	var ratios []float64
	for i := range rounds + 1 {
		w, err := work()
		if err != nil {
			return measured{}, err
		}
		y, err := yardstick()
		if err != nil {
			return measured{}, err
		}
		if i == 0 {
			continue
		}
		works, yardsticks, ratios = append(works, w), append(yardsticks, y), append(ratios, float64(w)/float64(y))
	}
	return measured{work: median(works), yardstick: median(yardsticks), ratio: median(ratios), per: per}, nil
}

// timed makes a measurable thing of one that is timed from begin to end.
func timed(do func() error) func() (time.Duration, error) {
	return func() (time.Duration, error) {
		begin := time.Now()
		err := do()
		return time.Since(begin), err
	}
}

func median[T ~int64 | ~float64](values []T) T {
	slices.Sort(values)
	return values[len(values)/2]
}

// line says what was measured against a goal.
func (m measured) line(work, yardstick string, g goal) line {
	l := line{work: work, yardstick: yardstick, goal: "–", met: "–"}
	l.measured = fmt.Sprintf("%s against %s", m.show(m.work), m.show(m.yardstick))
	l.ratio = fmt.Sprintf("%.2f ×", m.ratio)
	met := true
	var goals []string
	if g.ratio > 0 {
		goals, met = append(goals, fmt.Sprintf("≤ %g ×", g.ratio)), met && m.ratio <= g.ratio
	}
	if g.rate > 0 {
		l.ratio = fmt.Sprintf("%.2f ×", 1/m.ratio)
		goals, met = append(goals, fmt.Sprintf("≥ %g × the rate", g.rate)), met && 1/m.ratio >= g.rate
	}
	if g.limit > 0 {
		goals, met = append(goals, fmt.Sprintf("≤ %s", g.limit)), met && m.work <= g.limit
	}
	if len(goals) > 0 {
		l.goal, l.met = joined(goals), yesOrNo(met)
	}
	return l
}

func yesOrNo(met bool) string {
	if met {
		return "yes"
	}
	return "**no**"
}

func joined(words []string) string {
	text := words[0]
	for _, w := range words[1:] {
		text += ", " + w
	}
	return text
}

// show prints a time, or what one of per takes.
func (m measured) show(d time.Duration) string {
	each := d / time.Duration(max(m.per, 1))
	digits := time.Microsecond
	if each > 10*time.Millisecond {
		digits = 100 * time.Microsecond
	}
	text := each.Round(digits).String()
	if m.per > 1 {
		text += " each"
	}
	return text
}
