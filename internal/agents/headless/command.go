package headless

import (
	"time"

	"pawl"
)

// command is any program that reads a prompt from its standard input. Its output is shown as it is, except lines that are
// JSON objects with known keys: see docs/plan.md.
var command = Agent{
	Name: pawl.AnyCommand, Program: "/bin/sh",
	head: func(t Turn) []string { return []string{"-c", t.Action.Command} },
	out:  commandSays,
	gone: []string{"no such session"},
}

func commandSays(s *Stream, m message) {
	s.setSession(m.text("session"))
	s.addText(m.text("text"))
	if name := m.text("tool"); name != "" {
		s.startTool("", name, m.at("input"))
		s.endTool("")
	}
	if usage := m.at("usage"); usage.value != nil {
		s.usage = pawl.Usage{USD: max(0, usage.number("usd")), Tokens: usage.count("tokens")}
	}
	if what := m.text("denied"); what != "" {
		s.addDenied(what)
	}
	if at := m.at("error"); at.value != nil {
		s.commandFails(at)
	}
}

// commandFails records an error of the kind that the program reports.
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
