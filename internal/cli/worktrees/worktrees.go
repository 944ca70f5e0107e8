// Package worktrees says which project a command works on that a user types in a linked worktree of git: the worktree's own, or else
// the one of the main worktree. Commands that change or compare files need a project in the worktree itself, because checkpoints and
// steps of the main worktree's project are about the files there.
package worktrees

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/project"
	"pawl/internal/shellwords"
)

// creators are the commands that turn the worktree into a separate project.
var creators = []string{"init", "run", "import", "trust", "plan"}

// onFiles are the commands that change, compare or save the files of the project.
var onFiles = []string{"resume", "checkpoint", "diff", "restore", "fork", "rollback"}

// Find returns the project that a command works on that was given in a folder.
func Find(command, folder string) (*project.Project, error) {
	if slices.Contains(creators, command) {
		return project.Find(folder)
	}
	p, err := project.FindOrMain(folder)
	if err == nil && p.Linked != "" && slices.Contains(onFiles, command) {
		return nil, refusal(p, command)
	}
	return p, err
}

// refusal is the error for a command about files in a linked worktree without its own project.
func refusal(p *project.Project, command string) error {
	return &pawl.Error{
		Kind: pawl.KindNothing,
		Err: fmt.Errorf("%s is a linked worktree of the project %s, and pawl %s works only on the files of the project's folder; to make the worktree a separate project: pawl init",
			p.Linked, p.Root, command),
		Hint: fmt.Sprintf("pawl -C %s %s", shellwords.Word(p.Root), command),
	}
}

// NewProjectNotes are the notes for a user who is about to make a folder a project.
func NewProjectNotes(folder string) []string {
	p, err := project.FindOrMain(folder)
	switch top := repositoryAbove(folder); {
	case err == nil && p.Linked != "":
		return []string{fmt.Sprintf("%s is a linked worktree of the project %s; it is now a separate project, and its sessions and runs are recorded here", p.Linked, p.Root)}
	case errors.Is(err, pawl.ErrNoProject) && top != "":
		return []string{fmt.Sprintf("this folder is now a project; the rest of the git repository %s is not part of it", top)}
	}
	return nil
}

// repositoryAbove returns the top of the git repository that a folder is below of; "" if it is the top itself, or in no repository.
func repositoryAbove(folder string) string {
	for at := folder; ; at = filepath.Dir(at) {
		switch _, err := disk.Lstat(filepath.Join(at, ".git")); {
		case err == nil && at != folder:
			return at
		case err == nil, at == filepath.Dir(at):
			return ""
		}
	}
}
