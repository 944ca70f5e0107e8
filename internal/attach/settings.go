package attach

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/shellwords"
)

// largest limits the size of settings files.
const largest = 64 << 20

// settings is a settings file of the user.
type settings struct {
	named   string   // its path before links are resolved
	path    string   // its path with links resolved
	data    []byte   // nil if there is no file
	missing []string // parent folders that do not exist, the deepest first
}

// readSettings reads a file that need not exist. It follows links, and rejects broken links and what is not a regular file.
func readSettings(path string) (settings, error) {
	s := settings{named: path, path: path}
	target, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return s.absent()
	}
	if err != nil {
		return s, unreadable(path, err)
	}
	s.path = target
	file, err := disk.Open(target)
	if err != nil {
		return s, unreadable(path, err)
	}
	defer file.Close()
	s.data, err = io.ReadAll(io.LimitReader(file, largest+1))
	if err == nil && len(s.data) > largest {
		err = fmt.Errorf("larger than %d MiB", largest>>20)
	}
	if err != nil {
		return s, unreadable(path, err)
	}
	return s, nil
}

// absent sets the path of a missing file and its missing folders.
func (s settings) absent() (settings, error) {
	if target, err := os.Readlink(s.named); err == nil {
		return s, &pawl.Error{
			Kind: pawl.KindUsage,
			Err:  fmt.Errorf("%s is a link to %s, which does not exist", s.named, target),
			Hint: "rm " + shellwords.Word(s.named),
		}
	}
	folder := filepath.Dir(s.named)
	for {
		there, err := filepath.EvalSymlinks(folder)
		if err == nil {
			rest, err := filepath.Rel(folder, s.named)
			s.path = filepath.Join(there, rest)
			return s, err
		}
		if _, link := os.Readlink(folder); link == nil || !errors.Is(err, fs.ErrNotExist) {
			return s, unreadable(s.named, err)
		}
		s.missing = append(s.missing, folder)
		folder = filepath.Dir(folder)
	}
}

func unreadable(path string, err error) error {
	return &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("read %s: %w", path, err)}
}
