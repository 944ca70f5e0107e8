package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
)

// alone runs one agent without pawl: a failure here is not pawl's.
func (s *story) alone(ctx context.Context, a agent) error {
	if err := a.furnish(s.place, s.model.url); err != nil {
		return err
	}
	one, err := s.begin(ctx, a, "Write notes.md and count its lines.", s.someWork(a)...)
	if err != nil {
		return err
	}
	if err := errors.Join(s.finish(one), s.workIsThere()); err != nil {
		return err
	}
	if one, err = s.begin(ctx, a, "Take both steps.", turn{calls: []call{a.shell(s.twoSteps(), s.spot.dir)}}); err != nil {
		return err
	}
	if err := s.killAt(one, "step1.txt"); err != nil {
		return err
	}
	pid, err := s.process("pid")
	s.found.process = fate(living(pid))
	return err
}

// someWork is a file written and changed, and a command that ends.
func (s *story) someWork(a agent) []turn {
	notes := s.work("notes.md")
	return []turn{
		{calls: []call{a.write(notes, "first line\n")}},
		{calls: []call{a.edit(notes, "first line\n", "better line\n")}},
		{calls: []call{a.shell("wc -l < notes.md > count.txt", s.spot.dir)}},
		{text: "That is done."},
	}
}

func (s *story) workIsThere() error {
	return errors.Join(s.holds("notes.md", "better line"), s.holds("count.txt", "1"))
}

// twoSteps is a command that takes one step, waits for a file, and takes another one. First it writes its process id to a file.
func (s *story) twoSteps() string {
	return fmt.Sprintf("echo $$ > %s; echo one > step1.txt; until test -e %s; do sleep 0.1; done; echo two > step2.txt",
		s.place.outside("pid"), s.place.outside("go"))
}

// fate returns what happened to the command of a killed agent.
func fate(alive bool) string {
	if alive {
		return "lives on"
	}
	return "is gone"
}

// living reports whether a process exists and is not a zombie.
func living(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z") && !strings.HasPrefix(state, "X")
}
