package interop

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"pawl/internal/git"
	"pawl/internal/interop/format"
	"pawl/internal/snapshot"
)

// maxCommits limits how many ancestors of HEAD are listed.
const maxCommits = 2000

// listCommits returns HEAD and its ancestors in the repository that contains dir; nil if there is no repository.
func listCommits(ctx context.Context, dir string) ([]format.Commit, error) {
	head, err := snapshot.HeadOf(ctx, dir)
	if err != nil || head == nil {
		return nil, err
	}
	found, err := snapshot.CommitsOf(ctx, dir, time.Time{}, maxCommits)
	commits := []format.Commit{}
	for _, c := range found {
		commits = append(commits, format.Commit{Hash: c.Hash, Message: c.Subject, Time: c.Time})
	}
	return commits, err
}

// unknownCommits returns a function that reports whether the repository that contains dir lacks a commit. Git is not called
// before the function is.
func unknownCommits(ctx context.Context, dir string) func(string) bool {
	hasCommit := sync.OnceValue(func() func(string) bool {
		commits, err := listCommits(ctx, dir)
		if err != nil {
			return nil
		}
		return newEnv(ctx, dir, commits).HasCommit
	})
	return func(hash string) bool {
		return hasCommit() != nil && !hasCommit()(hash) && ctx.Err() == nil
	}
}

// commitsBetween returns a function that lists the ancestors of HEAD that were made between two times, the oldest first,
// each with its files relative to dir. Git is not called before the function is.
func commitsBetween(ctx context.Context, dir string) func(from, until time.Time) []format.Commit {
	return func(from, until time.Time) []format.Commit {
		found, err := snapshot.CommitsOf(ctx, dir, from.Truncate(time.Second), maxCommits)
		if err != nil {
			return nil
		}
		var commits []format.Commit
		for _, c := range slices.Backward(found) {
			if !c.Time.After(until) {
				commits = append(commits, format.Commit{Hash: c.Hash, Message: c.Subject, Time: c.Time, Files: changedFiles(ctx, dir, c.Hash)})
			}
		}
		return commits
	}
}

// uncommitted returns a function that reports whether a tracked file below dir differs from HEAD. Git is not called before the
// function is.
func uncommitted(ctx context.Context, dir string) func(string) bool {
	changed := sync.OnceValue(func() map[string]bool {
		out, err := git.Output(ctx, dir, "diff-index", "--name-only", "--relative", "-z", "HEAD")
		if err != nil {
			return nil
		}
		paths := map[string]bool{}
		for name := range strings.SplitSeq(string(out), "\x00") {
			paths[name] = true
		}
		return paths
	})
	return func(path string) bool { return changed()[path] }
}

// changedFiles returns the files that a commit changed, relative to dir.
func changedFiles(ctx context.Context, dir, commit string) []string {
	out, err := git.Output(ctx, dir, "diff-tree", "--root", "--no-commit-id", "--name-only", "--relative", "-r", "-z", commit)
	if err != nil {
		return nil
	}
	return strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 })
}
