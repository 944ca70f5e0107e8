package main

import (
	"context"
	"fmt"
	"path/filepath"
)

// spot is where agents are started, and where their commands run.
type spot struct {
	name string
	// scope of `pawl attach`. Some agents do not read a project's settings if they are started below the project or outside of it.
	scope string
	start func(p place) string
	dir   string // the folder of commands; empty: where the agent was started
}

// root is the default: the project's folder.
func root() spot {
	return spot{name: "main", scope: "project", start: func(p place) string { return p.project() }}
}

// spots are all spots.
func spots() []spot {
	return []spot{
		root(),
		{name: "workdir", scope: "project", start: func(p place) string { return p.project() }, dir: "db"},
		{name: "subfolder", scope: "user", start: func(p place) string { return p.project("db") }},
		{name: "worktree", scope: "user", start: func(p place) string { return p.worktree() }},
	}
}

// work returns a path below the folder in which the commands of the story run.
func (s *story) work(names ...string) string {
	return filepath.Join(append([]string{s.spot.start(s.place), s.spot.dir}, names...)...)
}

// furnishSpot creates what the spot needs: a repository to push to, a folder, a second worktree.
func (s *story) furnishSpot(ctx context.Context) error {
	if err := writeFile(s.place.project("db", "README.md"), "# A folder\n"); err != nil {
		return err
	}
	origin := s.place.outside("origin.git")
	for _, args := range [][]string{
		{"init", "--quiet", "--bare", origin}, {"remote", "add", "origin", origin},
		{"add", "."}, {"commit", "--quiet", "--message", "a folder"},
		{"worktree", "add", "--quiet", "-b", "side", s.place.worktree()},
	} {
		if err := s.place.git(ctx, args...); err != nil {
			return err
		}
	}
	return nil
}

// git is a git command in the project.
func (p place) git(ctx context.Context, args ...string) error {
	if said, err := p.command(ctx, nil, append([]string{"git"}, args...)...).CombinedOutput(); err != nil {
		return fmt.Errorf("git %s: %w: %s", args[0], err, said)
	}
	return nil
}
