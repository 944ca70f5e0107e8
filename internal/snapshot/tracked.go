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
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"pawl/internal/snapshot/ignore"
)

// tracked knows which files git tracks: those are content although a pattern ignores them. It reads git's index, and
// only when somebody asks.
type tracked struct {
	ctx     context.Context
	include []string // paths that count as tracked, and so does what is below them; sorted
	repo    ignore.Repository
	below   string // the workspace's path below the repository's top, empty or ending in a slash
	key     indexKey
	load    sync.Once
	paths   []string // in order of their bytes, below the repository's top
	err     error
}

// indexKey stands for the look of git's index file: where it is the same, git tracks the same files.
type indexKey [16]byte

// trackedBelow knows of the files below root; of none, where no repository is.
func trackedBelow(ctx context.Context, root string) (*tracked, error) {
	t := &tracked{ctx: ctx}
	repo, ok, err := ignore.FindRepository(root)
	if err != nil || !ok {
		return t, err
	}
	below, err := filepath.Rel(repo.Top, root)
	if err != nil {
		return nil, err
	}
	if below != "." {
		t.below = filepath.ToSlash(below) + "/"
	}
	t.repo = repo
	t.key, err = t.look()
	return t, err
}

func (t *tracked) index() string { return filepath.Join(t.repo.Dir, "index") }

// look stamps the index. Without one, git tracks nothing.
func (t *tracked) look() (indexKey, error) {
	var st unix.Stat_t
	if err := unix.Stat(t.index(), &st); errors.Is(err, fs.ErrNotExist) {
		return indexKey{}, nil
	} else if err != nil {
		return indexKey{}, fmt.Errorf("look at git's index: %w", err)
	}
	mtime, ctime := timesOf(&st)
	var text []byte
	for _, n := range []uint64{uint64(st.Size), uint64(mtime), uint64(ctime), st.Ino} {
		text = binary.LittleEndian.AppendUint64(text, n)
	}
	sum := sha256.Sum256(text)
	return indexKey(sum[:16]), nil
}

// covers reports whether git tracks the file, or anything below the folder; or whether it was asked for by include.
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
	data, err := os.ReadFile(t.index())
	if err != nil {
		return nil, fmt.Errorf("read git's index: %w", err)
	}
	if paths, ok := indexPaths(data); ok {
		return paths, nil
	}
	return t.ask()
}

// ask has git list what it tracks, where the index is of a kind that we do not read.
func (t *tracked) ask() ([]string, error) {
	cmd := exec.CommandContext(t.ctx, "git", "--git-dir="+t.repo.Dir, "--work-tree="+t.repo.Top, "ls-files", "-z")
	cmd.Dir = t.repo.Top
	cmd.Env = append(os.Environ(), "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C")
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("ask git which files it tracks: %w", err)
	}
	var paths []string
	for path := range bytes.SplitSeq(out, []byte{0}) {
		if len(path) > 0 {
			paths = append(paths, string(path))
		}
	}
	slices.Sort(paths)
	return paths, nil
}

// indexPaths reads the names of git's index (gitformat-index(5), versions 2 to 4 with SHA-1). It refuses what it does
// not know: a split or sparse index, SHA-256, damage.
func indexPaths(data []byte) (paths []string, ok bool) {
	const head, fixed, hash = 12, 62, 20
	if len(data) < head+hash || string(data[:4]) != "DIRC" {
		return nil, false
	}
	version, count := binary.BigEndian.Uint32(data[4:]), binary.BigEndian.Uint32(data[8:])
	if version < 2 || version > 4 || uint64(count)*fixed > uint64(len(data)) {
		return nil, false
	}
	paths = make([]string, 0, count)
	rest, last := data[head:len(data)-hash], ""
	for range count {
		if len(rest) < fixed+2 {
			return nil, false
		}
		before := len(rest)
		flags := binary.BigEndian.Uint16(rest[fixed-2:])
		rest = rest[fixed:]
		if flags&0x4000 != 0 { // extended
			rest = rest[2:]
		}
		keep := 0
		if version == 4 {
			drop, n := offsetVarint(rest)
			if n == 0 || drop > uint64(len(last)) {
				return nil, false
			}
			keep, rest = len(last)-int(drop), rest[n:]
		}
		end := bytes.IndexByte(rest, 0)
		if end < 0 {
			return nil, false
		}
		last = last[:keep] + string(rest[:end])
		rest = rest[end+1:]
		if version < 4 { // padded with one to eight zeros to a multiple of eight
			pad := -(before - len(rest)) & 7
			if len(rest) < pad {
				return nil, false
			}
			rest = rest[pad:]
		}
		if last == "" || strings.HasSuffix(last, "/") || len(paths) > 0 && last < paths[len(paths)-1] {
			return nil, false // a sparse folder, or entries that are longer than we think
		}
		paths = append(paths, last)
	}
	return paths, plainExtensions(rest)
}

// plainExtensions reports whether what follows the entries adds none: upper-case extensions may be passed over, but
// the lower-case ones, "link" and "sdir", change what the entries mean.
func plainExtensions(rest []byte) bool {
	for len(rest) > 0 {
		if len(rest) < 8 || rest[0] < 'A' || rest[0] > 'Z' {
			return false
		}
		size := binary.BigEndian.Uint32(rest[4:])
		if uint64(size) > uint64(len(rest)-8) {
			return false
		}
		rest = rest[8+size:]
	}
	return true
}

// offsetVarint reads a number as git's packs write offsets: big end first, each byte but the last with the top bit set
// and one added.
func offsetVarint(data []byte) (n uint64, length int) {
	for i, b := range data {
		if i > 8 {
			return 0, 0
		}
		n = n<<7 | uint64(b&0x7f)
		if b < 0x80 {
			return n, i + 1
		}
		n++
	}
	return 0, 0
}
