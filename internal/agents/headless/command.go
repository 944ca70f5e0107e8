package headless

import (
	"time"

	"pawl"
)

// command is any program that reads a prompt from its standard input. What it prints is told to people as it is, but for
// lines that are JSON objects with a key of ours: see docs/plan.md.
var command = Agent{
	Name: pawl.AnyCommand, Program: "/bin/sh",
	head: func(t Turn) []string { return []string{"-c", t.Action.Command} },
	out:  commandSays,
	gone: []string{"no such session"},
}

func commandSays(s *Stream, m message) {
	s.named(m.text("session"))
	s.says(m.text("text"))
	if name := m.text("tool"); name != "" {
		s.begins("", name, m.at("input"))
		s.finishes("")
	}
	if usage := m.at("usage"); usage.value != nil {
		s.usage = pawl.Usage{USD: max(0, usage.number("usd")), Tokens: usage.count("tokens")}
	}
	if what := m.text("denied"); what != "" {
		s.refused(what)
	}
	if at := m.at("error"); at.value != nil {
		s.commandFails(at)
	}
}

// commandFails takes in what went wrong, by the program's own word for it.
func (s *Stream) commandFails(e message) {
	s.trouble = trouble{how: Failed, why: e.text("message")}
	switch how := How(e.text("kind")); how {
	case Limited, Full, Overspent:
		s.trouble.how = how
	case Gone:
		if s.turn.Resume {
			s.trouble.how = how
		}
	}
	if at, err := time.Parse(time.RFC3339, e.text("reset")); err == nil {
		s.trouble.reset = at
	}
}
