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
)

// largest is the size of the largest file that is read.
const largest = 64 << 20

// settings is a file of the user's as it was read.
type settings struct {
	named   string   // where it was looked for
	path    string   // where it is, links followed
	data    []byte   // nil: there is none
	missing []string // folders above it that are not there, as named from those that are
}

// readSettings reads a file that need not be there. Links are followed; one that leads nowhere is refused, and so is
// what is no file.
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
	file, err := disk.OpenRegular(target)
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

// absent says where the file would be, and which folders it needs.
func (s settings) absent() (settings, error) {
	if target, err := os.Readlink(s.named); err == nil {
		return s, &pawl.Error{
			Kind: pawl.KindUsage,
			Err:  fmt.Errorf("%s is a link to %s, which is not there", s.named, target),
			Hint: fmt.Sprintf("rm '%s'", s.named),
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
