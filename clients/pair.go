package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// pair has one agent finish some work and die in the middle of a command, and a new session of the other one go on.
func (s *story) pair(a, b agent) error {
	if err := s.attach(a, b); err != nil {
		return err
	}
	if err := s.dieInACommand(a); err != nil {
		return err
	}
	truth, err := s.whatIsTrue(a)
	if err != nil {
		return err
	}
	if _, err := s.run("pawl", "status"); err != nil {
		return err
	}
	if err := s.goOn(b); err != nil {
		return err
	}
	told, err := briefIn(s.model.conversation())
	if err != nil {
		return err
	}
	s.page.note("What "+b.name+" had been told before its first word", told.text)
	s.found.verdict = told.verdict()
	return errors.Join(told.tells(truth), s.nothingInDoubt(a, b))
}

// attach furnishes both agents, attaches them to the project, and has them trust what was installed.
func (s *story) attach(a, b agent) error {
	for _, one := range slices.CompactFunc([]agent{a, b}, func(a, b agent) bool { return a.name == b.name }) {
		if err := one.furnish(s.place, s.model.url); err != nil {
			return err
		}
		if _, err := s.run("pawl", "attach", one.name, "--yes"); err != nil {
			return err
		}
		if one.trust == nil {
			continue
		}
		s.page.note("In "+one.name+", under /hooks", "trusted")
		if err := one.trust(s.place, one.program(one.from.folder(s.cache))); err != nil {
			return err
		}
	}
	return nil
}

// dieInACommand is the first session: what it finishes is done, and what it was killed in is in doubt.
func (s *story) dieInACommand(a agent) error {
	work := s.someWork(a)
	work[len(work)-1] = turn{calls: []call{a.shell(s.twoSteps())}}
	one, err := s.begin(a, "Write notes.md, count its lines, then take both steps.", work...)
	if err != nil {
		return err
	}
	return errors.Join(s.killAt(one, "step1.txt"), s.workIsThere())
}

// goOn is the second session: it does what is missing.
func (s *story) goOn(b agent) error {
	one, err := s.begin(b, "Go on.",
		turn{calls: []call{b.write(s.place.project("step2.txt"), "two\n")}},
		turn{calls: []call{b.shell("cat step1.txt step2.txt | wc -l > steps.txt")}},
		turn{text: "Both steps are taken."},
	)
	if err != nil {
		return err
	}
	return errors.Join(s.finish(one), s.workIsThere(), s.holds("step2.txt", "two"), s.holds("steps.txt", "2"))
}

// truth is what there is to know about the command that was cut off.
type truth struct {
	agent   string
	command string
	began   time.Time
	pid     int
	alive   bool
}

// whatIsTrue looks at the world before anybody is told of it.
func (s *story) whatIsTrue(a agent) (truth, error) {
	j, err := s.journal()
	if err != nil {
		return truth{}, err
	}
	open := j.open()
	if len(open) != 1 || !strings.Contains(open[0].Summary, "until test -e") {
		return truth{}, fmt.Errorf("after the kill, not exactly the command has an intent without outcome: %+v", open)
	}
	alive, pid, err := s.survivor()
	if err != nil {
		return truth{}, err
	}
	s.found.process, err = s.command()
	return truth{agent: a.name, command: s.twoSteps(), began: open[0].at, pid: pid, alive: alive}, err
}

// nothingInDoubt checks the end: one run, two sessions, each operation of the second with its outcome, the doubt closed.
func (s *story) nothingInDoubt(a, b agent) error {
	j, err := s.journal()
	if err != nil {
		return err
	}
	if len(j.sessions) != 2 || j.sessions[0].Agent() != a.name || j.sessions[1].Agent() != b.name {
		return fmt.Errorf("the sessions are not one of %s and one of %s: %v", a.name, b.name, j.sessions)
	}
	if all, open := j.of(j.sessions[1]); all != 2 || open > 0 {
		return fmt.Errorf("the second session has %d operations, %d without an outcome, not 2 and 0", all, open)
	}
	said, err := s.run("pawl", "status")
	if err == nil && strings.Contains(said, "in doubt") {
		err = errors.New("in the end something is still in doubt")
	}
	return err
}
