package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// varied is a pair whose first agent does every kind of work before it dies: finished work, also by a sub-agent, a command that fails,
// one that its settings forbid, and one in the background.
func (s *story) varied(ctx context.Context, a, b agent) error {
	if err := errors.Join(s.furnishSpot(ctx), s.attach(ctx, a, b)); err != nil {
		return err
	}
	if err := s.doEverything(ctx, a); err != nil {
		return err
	}
	is, err := s.facts(a)
	if err != nil {
		return s.check([]check{{"journal", err}})
	}
	if is.bg.pid, err = s.process("bg"); err != nil {
		return err
	}
	is.bg.before = living(is.bg.pid)
	if _, err := s.runPawl(ctx, "status"); err != nil {
		return err
	}
	if err := s.carryOn(ctx, b); err != nil {
		return err
	}
	return errors.Join(s.checkFacts(b, is), s.afterwards(ctx, is))
}

// beginWithNotes is the prompt of the first agent.
const beginWithNotes = "Begin with the notes, then take both steps."

// subtask is the prompt of a sub-agent.
const subtask = "Write the file sub.md."

// failing is a command that fails, and leaves something behind.
const failing = `sh -c "echo tried > tried.txt; exit 4"`

// waiting is a command for the background, which writes its process id to a file.
func (s *story) waiting() string {
	return fmt.Sprintf("echo $$ > %s; while ! test -e %s; do sleep 0.1; done", s.place.outside("bg"), s.place.outside("stop"))
}

// doEverything is the first session. It is killed in the middle of the two steps.
func (s *story) doEverything(ctx context.Context, a agent) error {
	work := s.someWork(a)
	work = append(work[:len(work)-1],
		turn{calls: []call{a.shell(failing, s.spot.dir)}},
		turn{calls: []call{a.shell(pushing, s.spot.dir)}},
		turn{calls: []call{a.background(s.waiting(), s.spot.dir)}},
	)
	work = append(work, a.delegate(subtask, a.write(s.work("sub.md"), "by a sub-agent\n"))...)
	work = append(work, turn{calls: []call{a.shell(s.twoSteps(), s.spot.dir)}})
	one, err := s.begin(ctx, a, beginWithNotes, work...)
	if err != nil {
		return err
	}
	return errors.Join(s.killAt(one, "step1.txt"), s.workIsThere(), s.everythingHappened())
}

// everythingHappened checks that the agent did all that the story needs.
func (s *story) everythingHappened() error {
	pushed := error(nil)
	if exists(s.place.outside("origin.git", "refs", "heads", "main")) {
		pushed = errors.New("the push that its settings forbid succeeded")
	}
	return errors.Join(s.holds("tried.txt", "tried"), s.holds("sub.md", "by a sub-agent"), pushed)
}

// facts is the truth about all that the first agent did.
type facts struct {
	truth
	folder  string // where its commands ran; empty: in the project's folder
	bg      process
	forgets bool // refusals cannot be known
}

// process is a started process, and whether it was alive before the brief and after it.
type process struct {
	pid           int
	before, after bool
}

// facts collects the truth before the brief is written.
func (s *story) facts(a agent) (facts, error) {
	j, err := s.journal()
	if err != nil {
		return facts{}, err
	}
	is := facts{truth: truth{agent: a.name, command: s.twoSteps()}, folder: s.folder(), forgets: a.forgets}
	for _, o := range j.open() {
		if strings.Contains(o.Summary, "until test -e") {
			is.began = o.at
		}
	}
	if is.began.IsZero() {
		return is, errors.New("the interrupted command has no intent without an outcome in the journal")
	}
	is.pid, err = s.process("pid")
	is.alive = living(is.pid)
	return is, err
}

// folder is the name of the commands' folder in the brief; empty: the project's.
func (s *story) folder() string {
	switch s.work() {
	case s.place.project():
		return ""
	case s.place.worktree():
		return s.place.worktree()
	}
	return "db"
}

// process returns the process id that a command wrote.
func (s *story) process(name string) (int, error) {
	data, err := os.ReadFile(s.place.outside(name))
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(data)))
}

// checkFacts checks the brief in the second agent's request to its model.
func (s *story) checkFacts(b agent, is facts) error {
	told, err := briefIn(s.model.conversation())
	if err != nil {
		return err
	}
	is.aliveAfter, is.bg.after = living(is.pid), living(is.bg.pid)
	s.page.note("The brief in the first request of "+b.name, told.text)
	s.found.verdict, s.found.process = told.verdictOnTheSteps(), fate(is.aliveAfter)
	return s.check(told.facts(is))
}

// afterwards checks the brief once the second session has ended well.
func (s *story) afterwards(ctx context.Context, is facts) error {
	said, err := s.runPawl(ctx, "brief")
	if err != nil {
		return err
	}
	end := brief{said}
	return s.check([]check{
		{"end: doubt", end.aliveStill(is.pid)},
		{"end: next", end.asksForNothing()},
		{"end: refused", end.refused(pushing, is.forgets)},
		{"end: background", end.background(process{is.bg.pid, is.bg.before, living(is.bg.pid)})},
		{"end: hooks", s.hooksFailed()},
		{"end: sessions", s.onlyOneGone(ctx)},
	})
}

// check records the results of checks.
func (s *story) check(list []check) error {
	var errs []error
	for _, c := range list {
		if c.err != nil {
			s.found.red = append(s.found.red, c.name)
			errs = append(errs, fmt.Errorf("%s: %w", c.name, c.err))
		}
	}
	return errors.Join(errs...)
}
