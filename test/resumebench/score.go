package main

import (
	"fmt"
	"slices"
	"unicode/utf8"
)

// A share is a count and its maximum.
type share struct {
	Of int `json:"of"`
	Is int `json:"is"`
}

func (s *share) count(is bool) {
	s.Of++
	if is {
		s.Is++
	}
}

func (s *share) add(o share) { s.Of, s.Is = s.Of+o.Of, s.Is+o.Is }

func (s share) String() string {
	if s.Of == 0 {
		return "–"
	}
	return fmt.Sprintf("%d/%d", s.Is, s.Of)
}

// score compares a text with the truth.
type score struct {
	Doubts   share `json:"in_doubt_reported"`
	Verdicts share `json:"verdicts_right"`
	Invented int   `json:"invented"`                // doubts about operations that are not in doubt, and claims about work that was never requested
	Again    share `json:"finished_proposed_again"` // of finished work, or work of another living session
	Refused  share `json:"refused_proposed_again"`
	Lost     share `json:"called_finished"` // of unfinished work

	Open     share `json:"open_work_told"`
	Failures share `json:"failures_told"`
	Refusals share `json:"refusals_told"`
	Running  share `json:"running_told"`

	Characters int      `json:"characters"`
	Millis     float64  `json:"milliseconds"`
	Wrong      []string `json:"wrong,omitempty"` // each lost point, as a text
}

// rate compares a text with the truth.
func rate(text string, truth []fact) score {
	s := score{Characters: utf8.RuneCountInString(text)}
	for _, f := range truth {
		s.rate(f, about(text, f.Mark))
	}
	return s
}

// rate adds what the text says of one operation.
func (s *score) rate(f fact, places []said) {
	says := func(c class) bool {
		return slices.ContainsFunc(places, func(p said) bool { return p.class == c })
	}
	s.rateState(f, says, places)
	if f.State != inDoubt && says(saysDoubt) {
		s.Invented++
		s.lose("%s is %s, and is called in doubt: %s", f.Mark, f.State, where(places, saysDoubt))
	}
	if f.Running {
		reported := slices.ContainsFunc(places, func(p said) bool { return mentions(p.statement, saysRunning) }) // in addition to its class
		s.Running.count(reported)
		s.miss(!reported, "%s still runs, which is not reported", f.Mark)
	}
	if class, unfinished := classOfState[f.State]; unfinished {
		lost := says(saysDone) && !says(class)
		s.Lost.count(lost)
		s.miss(lost, "%s is %s, and is called finished: %s", f.Mark, f.State, where(places, saysDone))
	}
}

// classOfState has the class for each unfinished state.
var classOfState = map[state]class{inDoubt: saysDoubt, refused: saysRefused, failed: saysFailed, open: saysNext}

// rateState applies the rules of a single state.
func (s *score) rateState(f fact, says func(class) bool, places []said) {
	switch f.State {
	case inDoubt:
		s.rateDoubt(f, says(saysDoubt), places)
	case finished, elsewhere:
		s.Again.count(says(saysNext))
		s.miss(says(saysNext), "%s is %s, and is proposed again: %s", f.Mark, f.State, where(places, saysNext))
	case refused:
		s.Refused.count(says(saysNext))
		s.miss(says(saysNext), "%s was refused, and is proposed again: %s", f.Mark, where(places, saysNext))
		s.Refusals.count(says(saysRefused))
		s.miss(!says(saysRefused), "%s was refused, which is not reported", f.Mark)
	case failed:
		s.Failures.count(says(saysFailed))
		s.miss(!says(saysFailed), "%s failed, which is not reported", f.Mark)
	case open:
		s.Open.count(says(saysNext))
		s.miss(!says(saysNext), "%s is open work, which is not reported", f.Mark)
	case never:
		if says(saysNext) {
			s.Invented++
			s.lose("%s was never requested, and is proposed: %s", f.Mark, where(places, saysNext))
		}
	}
}

// rateDoubt rates the statements about an operation in doubt.
func (s *score) rateDoubt(f fact, reported bool, places []said) {
	s.Doubts.count(reported)
	s.miss(!reported, "%s is in doubt, which is not reported", f.Mark)
	given := verdict("")
	for _, p := range places {
		if p.class == saysDoubt && given == "" {
			given = verdictIn(p.statement)
		}
	}
	right := slices.Contains(f.Verdict, given)
	s.Verdicts.count(right)
	s.miss(!right, "%s: the verdict is %q, not %q", f.Mark, given, f.Verdict)
}

func (s *score) miss(is bool, format string, args ...any) {
	if is {
		s.lose(format, args...)
	}
}

func (s *score) lose(format string, args ...any) {
	s.Wrong = append(s.Wrong, fmt.Sprintf(format, args...))
}

// where returns the statement that says something of a class.
func where(places []said, c class) string {
	for _, p := range places {
		if p.class == c {
			return fmt.Sprintf("%.160q", p.statement)
		}
	}
	return ""
}

// sum adds scores. Characters and times are added by the caller, which computes medians.
func sum(all []score) score {
	var total score
	for _, s := range all {
		total.Invented += s.Invented
		for _, pair := range [][2]*share{
			{&total.Doubts, &s.Doubts}, {&total.Verdicts, &s.Verdicts}, {&total.Again, &s.Again}, {&total.Refused, &s.Refused}, {&total.Lost, &s.Lost},
			{&total.Open, &s.Open}, {&total.Failures, &s.Failures}, {&total.Refusals, &s.Refusals}, {&total.Running, &s.Running},
		} {
			pair[0].add(*pair[1])
		}
	}
	return total
}
