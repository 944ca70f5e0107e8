package snapshot

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"pawl/internal/disk"
	"pawl/internal/git"
	"pawl/internal/snapshot/ignore"
)

// tracked knows which files git tracks: those are part of a snapshot even if a pattern ignores them. It reads git's
// index on first use.
type tracked struct {
	ctx     context.Context
	include []string // sorted paths that count as tracked, with everything below them
	repo    ignore.Repository
	below   string // the workspace's path in the repository: empty, or ending in a slash
	key     indexKey
	load    sync.Once
	paths   []string // sorted, relative to the top of the repository
	err     error
}

// indexKey identifies a version of git's index file by its size, times and inode.
type indexKey [16]byte

// trackedBelow returns what git tracks below root; nothing outside a repository.
func trackedBelow(ctx context.Context, root string) (*tracked, error) {
	repo, _, err := ignore.FindRepository(root)
	if err != nil {
		return nil, err
	}
	return trackedIn(ctx, root, repo)
}

// trackedIn is trackedBelow for a root whose repository is known; the zero one means that there is none.
func trackedIn(ctx context.Context, root string, repo ignore.Repository) (*tracked, error) {
	t := &tracked{ctx: ctx}
	if repo.Top == "" {
		return t, nil
	}
	below, err := filepath.Rel(repo.Top, root)
	if err != nil {
		return nil, err
	}
	if below != "." {
		t.below = filepath.ToSlash(below) + "/"
	}
	t.repo = repo
	t.key, err = t.stampIndex()
	return t, err
}

func (t *tracked) index() string { return filepath.Join(t.repo.Dir, "index") }

// stampIndex computes the index key; zero if there is no index.
func (t *tracked) stampIndex() (indexKey, error) {
	var st unix.Stat_t
	if err := unix.Stat(t.index(), &st); errors.Is(err, fs.ErrNotExist) {
		return indexKey{}, nil
	} else if err != nil {
		return indexKey{}, fmt.Errorf("stat git's index: %w", err)
	}
	mtime, ctime := timesOf(&st)
	var text []byte
	for _, n := range []uint64{uint64(st.Size), uint64(mtime), uint64(ctime), st.Ino} {
		text = binary.LittleEndian.AppendUint64(text, n)
	}
	sum := sha256.Sum256(text)
	return indexKey(sum[:16]), nil
}

// covers reports whether git tracks the file, or anything below the folder, or whether include names it.
func (t *tracked) covers(path string, isDir bool) (bool, error) {
	for _, asked := range t.include {
		if path == asked || strings.HasPrefix(path, asked+"/") || isDir && strings.HasPrefix(asked, path+"/") {
			return true, nil
		}
	}
	if t.key == (indexKey{}) {
		return false, nil
	}
	t.load.Do(func() { t.paths, t.err = t.read() })
	if t.err != nil {
		return false, t.err
	}
	path = t.below + path
	if isDir {
		path += "/"
	}
	at, found := slices.BinarySearch(t.paths, path)
	return found || isDir && at < len(t.paths) && strings.HasPrefix(t.paths[at], path), nil
}

func (t *tracked) read() ([]string, error) {
	data, err := disk.ReadFile(t.index(), disk.CacheLimit)
	if errors.Is(err, fs.ErrNotExist) { // removed since stampIndex
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read git's index: %w", err)
	}
	index, ok := readIndex(data, t.shared)
	if !ok {
		return t.list("", "ls-files", "-z")
	}
	paths := index.paths
	for folder, tree := range index.sparse {
		if _, err := os.Lstat(filepath.Join(t.repo.Top, folder)); err != nil {
			continue // the usual case: the sparse folder is not checked out
		}
		below, err := t.list(folder, "ls-tree", "-r", "-z", "--full-tree", "--name-only", tree)
		if err != nil {
			return nil, err
		}
		paths = append(paths, below...)
	}
	slices.Sort(paths)
	return paths, nil
}

// shared reads the shared index of a split index.
func (t *tracked) shared(name string) ([]byte, error) {
	return disk.ReadFile(filepath.Join(t.repo.Dir, "sharedindex."+name), disk.CacheLimit)
}

// list runs git to list tracked files, for sparse folders and for indexes that readIndex rejects.
func (t *tracked) list(below string, args ...string) ([]string, error) {
	out, err := git.Output(t.ctx, t.repo.Top, append([]string{"--work-tree=" + t.repo.Top}, args...)...)
	if err != nil {
		return nil, fmt.Errorf("list the files that git tracks: %w", err)
	}
	var paths []string
	for path := range bytes.SplitSeq(out, []byte{0}) {
		if len(path) > 0 {
			paths = append(paths, below+string(path))
		}
	}
	slices.Sort(paths)
	return paths, nil
}
