package interop

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"pawl/internal/evidence"
	"pawl/internal/interop/format"
	"pawl/internal/resume"
)

// newEnv returns the Env of a folder.
func newEnv(ctx context.Context, dir string, commits []format.Commit) format.Env {
	env := format.Env{
		Now: time.Now().UTC(), Commits: commits,
		Exists: func(name string) bool {
			full, err := resolvePath(dir, name)
			if err != nil {
				return false
			}
			_, err = os.Lstat(full)
			return err == nil
		},
		Hash: cachedHash(dir),
		Scan: func(since time.Time, but ...string) evidence.Census {
			return evidence.CountFiles(ctx, dir, since, but...)
		},
	}
	if commits != nil {
		env.HasCommit = commitFinder(ctx, dir, commits)
	}
	return env
}

// maxSought limits how many commits that are not among the listed ones are looked for, each with a call of git.
const maxSought = 200

// commitFinder returns a function that reports whether a commit is one of the listed ones, or in any branch.
func commitFinder(ctx context.Context, dir string, listed []format.Commit) func(hash string) bool {
	sought := map[string]bool{}
	return func(hash string) bool {
		for _, commit := range listed {
			if hash != "" && strings.HasPrefix(commit.Hash, hash) {
				return true
			}
		}
		there, known := sought[hash]
		if !known && len(sought) < maxSought {
			there = resume.CommitReachable(ctx, dir, hash)
			sought[hash] = there
		}
		return there
	}
}

// resolvePath returns the path of a name in dir, with symbolic links in its parent folders resolved. The error is ErrOutside
// if they lead out of dir.
func resolvePath(dir, name string) (string, error) {
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

// cachedHash returns a function that hashes each file once, since several checkpoints can name the same file.
func cachedHash(dir string) func(string) (string, int64, error) {
	type found struct {
		sum  string
		size int64
		err  error
	}
	hashes := map[string]found{}
	return func(name string) (string, int64, error) {
		f, ok := hashes[name]
		if !ok {
			f.sum, f.size, f.err = hashFile(dir, name)
			hashes[name] = f
		}
		return f.sum, f.size, f.err
	}
}

func hashFile(dir, name string) (string, int64, error) {
	full, err := resolvePath(dir, name)
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
