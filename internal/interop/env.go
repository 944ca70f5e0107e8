package interop

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"pawl/internal/evidence"
	"pawl/internal/interop/format"
	"pawl/internal/resume"
	"pawl/internal/snapshot"
)

// manyCommits is how far back the commits are looked at that other systems name.
const manyCommits = 2000

// commitsIn returns the commits that HEAD of the repository that a folder lies in builds on; nil: there is no repository.
func commitsIn(ctx context.Context, dir string) ([]format.Commit, error) {
	head, err := snapshot.HeadOf(ctx, dir)
	if err != nil || head == nil {
		return nil, err
	}
	found, err := snapshot.CommitsOf(ctx, dir, time.Time{}, manyCommits)
	commits := []format.Commit{}
	for _, c := range found {
		commits = append(commits, format.Commit{Hash: c.Hash, Message: c.Subject, Time: c.Time})
	}
	return commits, err
}

// unknownIn returns a function that reports whether the repository that a folder lies in knows no such commit. It asks git
// only once it is called.
func unknownIn(ctx context.Context, dir string) func(string) bool {
	known := sync.OnceValue(func() func(string) bool {
		commits, err := commitsIn(ctx, dir)
		if err != nil {
			return nil
		}
		return worldOf(ctx, dir, commits).HasCommit
	})
	return func(hash string) bool {
		return known() != nil && !known()(hash) && !resume.CommitReachable(ctx, dir, hash) && ctx.Err() == nil
	}
}

// worldOf is what a system's validation may ask of a folder and of git.
func worldOf(ctx context.Context, dir string, commits []format.Commit) format.Env {
	w := format.Env{
		Now: time.Now().UTC(), Commits: commits,
		Exists: func(name string) bool {
			full, err := within(dir, name)
			if err != nil {
				return false
			}
			_, err = os.Lstat(full)
			return err == nil
		},
		Hash: hashedOnce(dir),
		Scan: func(since time.Time, but ...string) evidence.Census {
			return evidence.CountFiles(ctx, dir, since, but...)
		},
	}
	if commits != nil {
		w.HasCommit = func(hash string) bool {
			for _, known := range commits {
				if hash != "" && strings.HasPrefix(known.Hash, hash) {
					return true
				}
			}
			return false
		}
	}
	return w
}

// within returns the path of a name below a folder, links above it followed: ErrOutside where they lead out.
func within(dir, name string) (string, error) {
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return "", format.ErrOutside
	}
	full := filepath.Join(dir, filepath.FromSlash(name))
	above, err := filepath.EvalSymlinks(filepath.Dir(full))
	if err != nil {
		return "", err
	}
	root, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	if rel, err := filepath.Rel(root, above); err != nil || !filepath.IsLocal(rel) {
		return "", format.ErrOutside
	}
	return filepath.Join(above, filepath.Base(full)), nil
}

// hashedOnce looks at each file once, however often it is asked for: what several checkpoints name is the same to all.
func hashedOnce(dir string) func(string) (string, int64, error) {
	type found struct {
		sum  string
		size int64
		err  error
	}
	known := map[string]found{}
	return func(name string) (string, int64, error) {
		f, ok := known[name]
		if !ok {
			f.sum, f.size, f.err = hashIn(dir, name)
			known[name] = f
		}
		return f.sum, f.size, f.err
	}
}

func hashIn(dir, name string) (string, int64, error) {
	full, err := within(dir, name)
	if err != nil {
		return "", 0, err
	}
	info, err := os.Lstat(full)
	if err != nil {
		return "", 0, err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		return "", 0, format.ErrLink
	}
	sum, err := resume.ContentHash(full, info)
	return sum, info.Size(), err
}
