package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
)

// recipe is the story of an agent that pawl cannot attach to, as docs/other-agents.md describes it. The agent works in a step and is
// killed with the engine and the supervisor. A new session, which has pawl's MCP server, calls its tool brief.
func (s *story) recipe(ctx context.Context, a agent) error {
	if err := a.furnish(s.place, s.model.url); err != nil {
		return err
	}
	if _, err := s.runPawl(ctx, "init"); err != nil {
		return err
	}
	if err := s.addServer(ctx, a); err != nil {
		return err
	}
	if err := s.dieInAStep(ctx, a); err != nil {
		return err
	}
	return s.askForTheBrief(ctx, a)
}

// addServer adds the MCP server to the agent's settings with the agent's own command.
func (s *story) addServer(ctx context.Context, a agent) error {
	add := []string{"mcp", "add", "--scope", "user", "pawl", s.pawl, "mcp"}
	s.page.typed(append([]string{a.name}, add...)...)
	said, err := s.commandOf(ctx, a, nil, add).CombinedOutput()
	s.page.shown(string(said))
	if err != nil {
		return fmt.Errorf("%s mcp add: %w: %s", a.name, err, said)
	}
	return nil
}

// commandOf is a command line of the agent with a prefix.
func (s *story) commandOf(ctx context.Context, a agent, before, arguments []string) *exec.Cmd {
	line := slices.Concat(before, a.program(a.from.folder(s.cache)), arguments)
	return s.place.command(ctx, a.environ(s.place, s.model.url), line...)
}

// dieInAStep runs the agent as a step, and kills all processes in the middle of a command.
func (s *story) dieInAStep(ctx context.Context, a agent) error {
	work := s.someWork(a)
	work[len(work)-1] = turn{calls: []call{a.shell(s.twoSteps(), "")}}
	s.model.play(beginWithNotes, work...)
	s.page.typed(append([]string{"pawl", "run", "--", a.name}, a.arguments(beginWithNotes)...)...)
	one, err := start(ctx, a.name, s.place, s.commandOf(ctx, a, []string{s.pawl, "run", "--"}, a.arguments(beginWithNotes)))
	if err != nil {
		return err
	}
	err = one.until(s.work("step1.txt"))
	s.place.sweep()
	<-one.ended
	s.page.shown(one.said() + "Killed\n")
	return errors.Join(err, s.model.fault(), s.workIsThere())
}

// askForTheBrief is the next session. Its model first looks for the tool, then calls it.
func (s *story) askForTheBrief(ctx context.Context, a agent) error {
	const prompt = "Call pawl's tool brief, then go on."
	one, err := s.begin(ctx, a, prompt,
		turn{calls: []call{{tool: "tool_search", args: object{"query": "select:" + a.server}}}},
		turn{calls: []call{{tool: a.server, args: object{}}}},
		turn{text: "I know where we are."},
	)
	if err != nil {
		return err
	}
	if err := s.finish(one); err != nil {
		return err
	}
	asked := s.model.conversation()
	told, err := briefIn(asked[len(asked)-1:])
	if err != nil {
		return err
	}
	s.page.note("The tool's answer to "+a.name, told.text)
	if doubt := told.section("in doubt"); !strings.Contains(doubt, "attempt 1") {
		return errors.New("the brief does not report the interrupted step: " + told.text)
	}
	return nil
}
