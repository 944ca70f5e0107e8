package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// typed types pawl's command in an agent, with arguments. The agent's model must get the command's text and the arguments.
func (s *story) typed(ctx context.Context, a agent) error {
	if err := s.attach(ctx, a, a); err != nil {
		return err
	}
	a.arguments = a.typing
	one, err := s.begin(ctx, a, "the two letters only",
		turn{calls: []call{a.shell(s.pawl+" brief > brief.txt", s.spot.dir)}},
		turn{text: "There is nothing to resume."},
	)
	if err != nil {
		return err
	}
	if err := s.finish(one); err != nil {
		return err
	}
	told, err := os.ReadFile(s.work("brief.txt"))
	if err != nil || !strings.HasPrefix(string(told), briefTitle) {
		return fmt.Errorf("the command's brief: %q, %v", told, err)
	}
	if strings.Contains(string(told), "avoid conflicts") {
		return fmt.Errorf("the command's brief takes the session that reads it for another one: %s", told)
	}
	for _, words := range []string{"the two letters only", "Do not redo what it lists as finished", " resume --dry-run` and show the user"} {
		if !slices.ContainsFunc(s.model.conversation()[0].texts(), func(text string) bool { return strings.Contains(text, words) }) {
			return errors.New("the model did not get the text of the command: " + words)
		}
	}
	if said, err := s.runPawl(ctx, "log"); err != nil || !strings.Contains(said, "the two letters only") || strings.Contains(said, "Do not redo") {
		return fmt.Errorf("the journal does not have what the user typed: %s, %v", said, err)
	}
	return nil
}
