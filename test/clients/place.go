package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
)

// place is the folder of one story: a home, a git project, and a folder outside of both.
type place struct{ dir string }

func (p place) home(names ...string) string    { return p.under("home", names) }
func (p place) project(names ...string) string { return p.under("project", names) }
func (p place) outside(names ...string) string { return p.under("outside", names) }
func (p place) temporary() string              { return p.under("tmp", nil) }

// worktree is where a second worktree of the project may be.
func (p place) worktree() string { return p.under("worktree", nil) }

func (p place) under(first string, names []string) string {
	return filepath.Join(append([]string{p.dir, first}, names...)...)
}

// furnish makes the folders, and a repository with one commit.
func (p place) furnish(ctx context.Context) error {
	for _, dir := range []string{p.home(), p.project(), p.outside(), p.temporary()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	if err := writeFile(p.project("README.md"), "# A project\n"); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"init", "--quiet", "--initial-branch", "main"}, {"add", "."}, {"commit", "--quiet", "--message", "begin"},
	} {
		if err := p.git(ctx, args...); err != nil {
			return err
		}
	}
	return nil
}

// command is a command in the project. Of our environment it gets only PATH.
func (p place) command(ctx context.Context, more []string, line ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Dir = p.project()
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + p.home(), "TMPDIR=" + p.temporary(), "LANG=C.UTF-8", "TERM=xterm-256color", "COLORTERM=truecolor", placeVar + "=" + p.dir,
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.com",
	}, more...)
	return cmd
}

// placeVar marks the processes of a place.
const placeVar = "CLIENTS_PLACE"

// writeFile writes a file and the folders above it.
func writeFile(path, content string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(content), 0o600)
}
