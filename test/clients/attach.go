package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// attach writes the settings of both agents, attaches them to the project, and makes them trust the hooks.
func (s *story) attach(ctx context.Context, a, b agent) error {
	if s.spot.scope == "user" { // then attach does not make this folder a project
		if _, err := s.runPawl(ctx, "init"); err != nil {
			return err
		}
	}
	for _, one := range slices.CompactFunc([]agent{a, b}, func(a, b agent) bool { return a.name == b.name }) {
		if err := one.furnish(s.place, s.model.url); err != nil {
			return err
		}
		if _, err := s.runPawl(ctx, s.attaching(one)...); err != nil {
			return err
		}
		if err := s.trust(ctx, one); err != nil {
			return err
		}
	}
	return nil
}

// attaching is the command line that attaches an agent.
func (s *story) attaching(a agent) []string {
	if s.spot.scope == "project" {
		return []string{"attach", a.name, "--yes"}
	}
	return []string{"attach", a.name, "--yes", "--scope", s.spot.scope}
}

// trust does what a user must do so that the hooks run. Until then, and not afterwards, pawl doctor reports it.
func (s *story) trust(ctx context.Context, a agent) error {
	if a.trust != nil {
		if complaint := s.complaint(ctx, a); !strings.Contains(complaint, "/hooks") {
			return fmt.Errorf("%s trusts no hooks yet, and pawl doctor only says: %q", a.name, complaint)
		}
		if err := a.trust(ctx, s.place, a.program(a.from.folder(s.cache))); err != nil {
			return err
		}
		s.page.note("In "+a.name+", under /hooks", "trusted")
	}
	if complaint := s.complaint(ctx, a); complaint != "" {
		return fmt.Errorf("the hooks of %s are in place, but pawl doctor says: %s", a.name, complaint)
	}
	return nil
}

// complaint returns the findings of pawl doctor about an agent's settings. It ignores findings about the system.
func (s *story) complaint(ctx context.Context, a agent) string {
	said, _ := s.place.command(ctx, nil, s.pawl, "doctor").CombinedOutput()
	var complaint strings.Builder
	for line := range strings.Lines(string(said)) {
		about := strings.Contains(line, ": "+a.name+": ") && !strings.HasPrefix(line, "ok ")
		if about || complaint.Len() > 0 && strings.HasPrefix(line, "  ") {
			complaint.WriteString(line)
		}
	}
	return complaint.String()
}
