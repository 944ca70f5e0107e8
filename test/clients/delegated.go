package main

import (
	"context"
	"errors"
	"strings"
)

// delegated is a pair whose first agent is killed while a sub-agent is in the middle of a command.
func (s *story) delegated(ctx context.Context, a, b agent) error {
	if err := s.attach(ctx, a, b); err != nil {
		return err
	}
	work := s.someWork(a)
	work = append(work[:len(work)-1], a.delegate(subtask, a.shell(s.twoSteps(), s.spot.dir))...)
	one, err := s.begin(ctx, a, beginWithNotes, work[:len(work)-1]...)
	if err != nil {
		return err
	}
	if err := s.killAt(one, "step1.txt"); err != nil {
		return err
	}
	is, err := s.facts(a)
	if err != nil {
		return s.check([]check{{"journal", err}})
	}
	if _, err := s.runPawl(ctx, "status"); err != nil {
		return err
	}
	if err := s.carryOn(ctx, b); err != nil {
		return err
	}
	return s.checkTask(b, is)
}

// checkTask checks what the brief of the second agent says about an interrupted sub-agent.
func (s *story) checkTask(b agent, is facts) error {
	told, err := briefIn(s.model.conversation())
	if err != nil {
		return err
	}
	is.aliveAfter = living(is.pid)
	s.page.note("The brief in the first request of "+b.name, told.text)
	s.found.verdict, s.found.process = told.verdictOnTheSteps(), fate(is.aliveAfter)
	return s.check([]check{
		{"doubt", told.doubt(is)}, {"whole", told.whole(is)}, {"denial", told.denial()}, {"task", told.task()},
	})
}

// task checks that the brief contains the sub-agent's prompt.
func (b brief) task() error {
	if !strings.Contains(b.text, subtask) {
		return errors.New("the sub-agent's prompt is missing")
	}
	return nil
}
