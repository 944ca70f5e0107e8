package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// attach furnishes both agents, attaches them to the project, and has them trust what was installed.
func (s *story) attach(ctx context.Context, a, b agent) error {
	for _, one := range slices.CompactFunc([]agent{a, b}, func(a, b agent) bool { return a.name == b.name }) {
		if err := one.furnish(s.place, s.model.url); err != nil {
			return err
		}
		if _, err := s.runPawl(ctx, "attach", one.name, "--yes"); err != nil {
			return err
		}
		if err := s.trust(ctx, one); err != nil {
			return err
		}
	}
	return nil
}

// trust does what a person must still do so that the hooks run. Up to then, and not after it, pawl doctor says so.
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

// complaint is what pawl doctor has against an agent's settings. The system under us may have faults of its own.
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
