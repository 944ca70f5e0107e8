package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
)

// pair lets one agent finish some work and kills it in the middle of a command. Then a new session of the other one continues.
func (s *story) pair(ctx context.Context, a, b agent) error {
	if err := s.attach(ctx, a, b); err != nil {
		return err
	}
	if err := s.dieInACommand(ctx, a); err != nil {
		return err
	}
	truth, err := s.whatIsTrue(a)
	if err != nil {
		return err
	}
	if err := s.oneInDoubt(ctx, a); err != nil {
		return err
	}
	if err := s.carryOn(ctx, b); err != nil {
		return err
	}
	truth.aliveAfter = living(truth.pid)
	return errors.Join(s.checkBrief(b, truth), s.theEnd(ctx, a, b))
}

// dieInACommand is the first session: its finished work is done, and the interrupted command is in doubt.
func (s *story) dieInACommand(ctx context.Context, a agent) error {
	work := s.someWork(a)
	work[len(work)-1] = turn{calls: []call{a.shell(s.twoSteps(), s.spot.dir)}}
	one, err := s.begin(ctx, a, beginWithNotes, work...)
	if err != nil {
		return err
	}
	return errors.Join(s.killAt(one, "step1.txt"), s.workIsThere())
}

// goOn is the prompt of the second session. It gets everything else from pawl.
const goOn = "Go on."

// carryOn is the second session: it does the missing work.
func (s *story) carryOn(ctx context.Context, b agent) error {
	one, err := s.begin(ctx, b, goOn,
		turn{calls: []call{b.write(s.work("step2.txt"), "two\n")}},
		turn{calls: []call{b.shell("cat step1.txt step2.txt | wc -l > steps.txt", s.spot.dir)}},
		turn{text: "Both steps are taken."},
	)
	if err != nil {
		return err
	}
	return errors.Join(s.finish(one), s.workIsThere(), s.holds("step2.txt", "two"), s.holds("steps.txt", "2"))
}

// checkBrief checks the brief in the second agent's request to its model.
func (s *story) checkBrief(b agent, is truth) error {
	asked := s.model.conversation()
	told, err := briefIn(asked)
	if err != nil {
		return err
	}
	s.page.note("The brief in the first request of "+b.name, told.text)
	s.found.verdict, s.found.process = told.verdict(), fate(is.aliveAfter)
	if !slices.ContainsFunc(asked, func(r request) bool { return bytes.Contains(r.body, []byte(b.server)) }) {
		return fmt.Errorf("no request of %s to its model names pawl's MCP server", b.name)
	}
	return told.tells(is)
}
