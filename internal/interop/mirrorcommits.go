package interop

import (
	"context"
	"slices"
	"strings"
	"time"

	"pawl/internal/interop/format"
	"pawl/internal/resume"
	"pawl/internal/snapshot"
)

// commitsBetween returns a function that gives the commits that HEAD builds on which were made between two times, the oldest
// first, each with its files as a folder sees them. It asks git only once it is called.
func commitsBetween(ctx context.Context, dir string) func(from, until time.Time) []format.Commit {
	return func(from, until time.Time) []format.Commit {
		found, err := snapshot.CommitsOf(ctx, dir, from.Truncate(time.Second), manyCommits)
		if err != nil {
			return nil
		}
		var commits []format.Commit
		for _, c := range slices.Backward(found) {
			if !c.Time.After(until) {
				commits = append(commits, format.Commit{Hash: c.Hash, Message: c.Subject, Time: c.Time, Files: filesOf(ctx, dir, c.Hash)})
			}
		}
		return commits
	}
}

// filesOf returns the files that a commit changed, as a folder sees them.
func filesOf(ctx context.Context, dir, commit string) []string {
	out, err := resume.RunGit(ctx, dir, "diff-tree", "--root", "--no-commit-id", "--name-only", "--relative", "-r", "-z", commit)
	if err != nil {
		return nil
	}
	return strings.FieldsFunc(out, func(r rune) bool { return r == 0 })
}
