package sessions

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/operations"
	"pawl/internal/project"
	"pawl/internal/snapshot"
)

// search is what was found of the files where a tool call worked.
type search struct {
	changed []changedPath
	blind   string // why changes could not be determined; empty if they were
}

// searches returns a function that finds the files that changed where a tool call worked. It searches each folder once.
func searches(ctx context.Context, p *project.Project, since time.Time) func(*pawl.OperationState) search {
	known := map[string]search{}
	shown := func(path string) string {
		if rel, err := filepath.Rel(p.Root, path); err == nil && filepath.IsLocal(rel) {
			path = rel
		}
		return filepath.ToSlash(path)
	}
	return func(o *pawl.OperationState) search {
		if dir := operations.Dir(o.Operation, p.Root); !p.Contains(dir) {
			if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
				return search{blind: "its folder no longer exists"}
			}
		}
		var all search
		for _, folder := range searchedFolders(p, o) {
			files, ok := known[folder]
			if !ok {
				files.changed, files.blind = changedSinceClock(ctx, folder, since, shown)
				known[folder] = files
			}
			all = search{append(slices.Clip(all.changed), files.changed...), cmp.Or(all.blind, files.blind)}
		}
		return all
	}
}

// searchedFolders returns the folders in which a tool call may have changed files: its own, and those of the folders that its commands
// change to.
func searchedFolders(p *project.Project, o *pawl.OperationState) []string {
	all := []string{searchedFolder(p, o)}
	dirs, _ := operations.Folders(o.Operation, p.Root)
	for _, dir := range dirs {
		in := p.WorktreeOf(dir)
		if p.Contains(dir) {
			in = p.Root
		}
		if in != "" && !slices.Contains(all, in) {
			all = append(all, in)
		}
	}
	return all
}

// searchedFolder returns the folder in which a tool call may have changed files and left processes: the project's root, or a linked
// worktree outside of it.
func searchedFolder(p *project.Project, o *pawl.OperationState) string {
	if worktree := p.WorktreeOf(operations.Dir(o.Operation, p.Root)); worktree != "" && !p.Contains(worktree) {
		return worktree
	}
	return p.Root
}

// WorktreeBranch returns the branch of a session's linked worktree, or the commit if HEAD is detached; "" if it is unknown. gone
// reports whether the worktree no longer exists, or no longer belongs to the project.
func WorktreeBranch(ctx context.Context, p *project.Project, worktree string) (branch string, gone bool) {
	head, gone := worktreeHead(ctx, p, worktree)
	if head == nil {
		return "", gone
	}
	return cmp.Or(strings.TrimPrefix(head.Branch, "refs/heads/"), head.Commit), false
}

// worktreeHead returns the HEAD of a linked worktree; nil if it is unknown.
func worktreeHead(ctx context.Context, p *project.Project, worktree string) (head *snapshot.Head, gone bool) {
	if p.WorktreeOf(worktree) != worktree {
		return nil, true
	}
	head, err := snapshot.HeadOf(ctx, worktree)
	if err != nil {
		return nil, false
	}
	return head, false
}
