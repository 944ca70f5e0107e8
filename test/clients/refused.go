package main

import (
	"context"
	"errors"
	"strings"
)

// deploying is a command that no settings forbid. An agent that may only edit files asks for permission, and gets none because it is
// unattended.
const deploying = "sh deploy.sh"

// refused makes an agent ask for a permission that is not granted. It ends well, and the brief of a new session must not propose the
// refused command.
func (s *story) refused(ctx context.Context, a, b agent) error {
	if err := s.attach(ctx, a, b); err != nil {
		return err
	}
	if err := s.askInVain(ctx, a); err != nil {
		return err
	}
	one, err := s.begin(ctx, b, goOn, turn{text: "There is nothing to do."})
	if err != nil {
		return err
	}
	if err := s.finish(one); err != nil {
		return err
	}
	told, err := briefIn(s.model.conversation())
	if err != nil {
		return s.nothingTold(err)
	}
	s.page.note("The brief in the first request of "+b.name, told.text)
	return s.check([]check{
		{"refused", told.refused(deploying, false)}, {"denial", told.denial()}, {"finished", told.finished()}, {"next", told.asksForNothing()},
		{"hooks", s.hooksFailed()}, {"sessions", s.noneGone(ctx)},
	})
}

// askInVain is the first session.
func (s *story) askInVain(ctx context.Context, a agent) error {
	if err := writeFile(s.work("deploy.sh"), "echo deployed > deployed.txt\n"); err != nil {
		return err
	}
	a.arguments = a.asking
	one, err := s.begin(ctx, a, beginWithNotes,
		turn{calls: []call{a.write(s.work("notes.md"), "first line\n")}},
		turn{calls: []call{a.shell(deploying, s.spot.dir)}},
	) // some end the turn by themselves then
	if err != nil {
		return err
	}
	if err := errors.Join(s.finish(one), s.holds("notes.md", "first line")); err != nil {
		return err
	}
	if exists(s.work("deployed.txt")) {
		return errors.New("the command ran without a request for permission")
	}
	return nil
}

// nothingTold returns no error if nothing is open: then a new session needs no brief.
func (s *story) nothingTold(err error) error {
	for _, r := range s.model.conversation() {
		if strings.Contains(string(r.body), deploying) {
			return err
		}
	}
	s.found.verdict = "nothing"
	return nil
}
