package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
)

// pair has one agent finish some work and die in the middle of a command, and a new session of the other one go on.
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
	return errors.Join(s.wasTold(b, truth), s.nothingInDoubt(ctx, a, b))
}

// dieInACommand is the first session: what it finishes is done, and what it was killed in is in doubt.
func (s *story) dieInACommand(ctx context.Context, a agent) error {
	work := s.someWork(a)
	work[len(work)-1] = turn{calls: []call{a.shell(s.twoSteps())}}
	one, err := s.begin(ctx, a, "Begin with the notes, then take both steps.", work...)
	if err != nil {
		return err
	}
	return errors.Join(s.killAt(one, "step1.txt"), s.workIsThere())
}

// goOn is what the second session is asked. All else it must know from pawl.
const goOn = "Go on."

// carryOn is the second session: it does what is missing.
func (s *story) carryOn(ctx context.Context, b agent) error {
	one, err := s.begin(ctx, b, goOn,
		turn{calls: []call{b.write(s.place.project("step2.txt"), "two\n")}},
		turn{calls: []call{b.shell("cat step1.txt step2.txt | wc -l > steps.txt")}},
		turn{text: "Both steps are taken."},
	)
	if err != nil {
		return err
	}
	return errors.Join(s.finish(one), s.workIsThere(), s.holds("step2.txt", "two"), s.holds("steps.txt", "2"))
}

// wasTold checks what the second agent told its model that it had from pawl.
func (s *story) wasTold(b agent, is truth) error {
	asked := s.model.conversation()
	told, err := briefIn(asked)
	if err != nil {
		return err
	}
	s.page.note("What "+b.name+" had been told before its first word", told.text)
	s.found = finding{verdict: told.verdict(), process: fate(is.aliveAfter)}
	if !slices.ContainsFunc(asked, func(r request) bool { return bytes.Contains(r.body, []byte(b.server)) }) {
		return fmt.Errorf("no request of %s to its model tells of pawl's MCP server", b.name)
	}
	return told.tells(is)
}
