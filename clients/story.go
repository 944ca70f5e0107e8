package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// story is one thing that is tried, in a place of its own with a model of its own.
type story struct {
	name  string
	cache string
	pawl  string
	place place
	model *model
}

// stories tells all that was asked for, and prints how each came out.
func (o options) stories(agents []agent, cache string, out io.Writer) error {
	if !o.open {
		if err := loopbackOnly(); err != nil {
			return err
		}
	}
	dir, err := os.MkdirTemp("", "pawl-clients-")
	if err != nil {
		return err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return err
	}
	var errs []error
	for _, a := range agents {
		s := &story{name: a.name, cache: cache, pawl: o.pawl, place: place{filepath.Join(dir, a.name)}}
		if o.only != "" && o.only != s.name {
			continue
		}
		began := time.Now()
		err := s.tell(func() error { return s.alone(a) })
		fmt.Fprintf(out, "%-20s %6.1fs  %s\n", s.name, time.Since(began).Seconds(), verdict(err))
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w\n  kept in %s", s.name, err, s.place.dir))
		}
	}
	if len(errs) == 0 && !o.keep {
		return os.RemoveAll(dir)
	}
	return errors.Join(errs...)
}

func verdict(err error) string {
	if err != nil {
		return "FAILED"
	}
	return "ok"
}

// tell furnishes the place, starts the model, and ends in the end what is left of the story's processes.
func (s *story) tell(what func() error) error {
	if err := s.place.furnish(); err != nil {
		return err
	}
	var err error
	if s.model, err = newModel(filepath.Join(s.place.dir, "requests")); err != nil {
		return err
	}
	defer s.model.close()
	defer s.place.sweep()
	return what()
}

// alone has one agent work by itself: what pawl is not to blame for.
func (s *story) alone(a agent) error {
	if err := a.furnish(s.place, s.model.url); err != nil {
		return err
	}
	notes := s.place.project("notes.md")
	s.model.play(
		turn{calls: []call{a.write(notes, "first line\n")}},
		turn{calls: []call{a.edit(notes, "first line\n", "better line\n")}},
		turn{calls: []call{a.shell("wc -l < notes.md > count.txt")}},
		turn{text: "That is done."},
	)
	session, err := begin(a, s.place, s.cache, s.model.url, "Write notes.md and count its lines.")
	if err != nil {
		return err
	}
	if err := errors.Join(session.finish(), s.model.fault(), s.holds("notes.md", "better line"), s.holds("count.txt", "1")); err != nil {
		return err
	}
	s.model.play(turn{calls: []call{a.shell(s.longCommand())}})
	if session, err = begin(a, s.place, s.cache, s.model.url, "Take both steps."); err != nil {
		return err
	}
	return errors.Join(session.killAt(s.place.project("step1.txt")), s.model.fault())
}

// longCommand takes one step, and another one when it is let.
func (s *story) longCommand() string {
	return fmt.Sprintf("echo $$ > %s; echo one > step1.txt; until test -e %s; do sleep 0.1; done; echo two > step2.txt",
		s.place.outside("pid"), s.place.outside("go"))
}

// holds checks the content of a file of the project, but for white space around it.
func (s *story) holds(name, content string) error {
	data, err := os.ReadFile(s.place.project(name))
	if err != nil {
		return err
	}
	if is := strings.TrimSpace(string(data)); is != content {
		return fmt.Errorf("%s holds %q, not %q", name, is, content)
	}
	return nil
}
