package sessionlock

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/disk"
)

// File is a lock file that exists.
type File struct {
	Path string
	Held bool
	Own  bool // a process of pawl took it
	Why  string
}

// maxSize limits the lock files that are read, in bytes.
const maxSize = 64 << 10

// Find returns the lock files that exist.
func Find(paths []string) []File {
	on := Here()
	var found []File
	for _, path := range paths {
		info, err := disk.Lstat(path)
		if err != nil {
			continue
		}
		var data []byte
		if info.Mode().IsRegular() && info.Size() <= maxSize {
			if data, err = disk.ReadFile(path, maxSize); errors.Is(err, fs.ErrNotExist) {
				continue
			}
		}
		f := File{Path: path}
		f.Held, f.Own, f.Why = on.Held(data, info.ModTime())
		found = append(found, f)
	}
	return found
}

// Take takes locks and returns what releases them. It fails while a session holds one. A lock is taken only in an existing folder: without
// it, no session of Gyoshu has ever taken one here. A stale lock of another program stays, and is not taken.
func Take(paths []string) (release func() error, err error) {
	var taken []string
	release = func() error {
		var errs []error
		for _, path := range taken {
			errs = append(errs, disk.Remove(path))
		}
		return errors.Join(errs...)
	}
	for _, f := range Find(paths) {
		if f.Own && !f.Held {
			if err := disk.Remove(f.Path); err != nil {
				return nil, err
			}
		}
	}
	for _, path := range paths {
		switch err := create(path); {
		case err == nil:
			taken = append(taken, path)
		case !errors.Is(err, fs.ErrExist) && !errors.Is(err, fs.ErrNotExist):
			return nil, errors.Join(err, release())
		}
	}
	for _, f := range Find(paths) {
		if f.Held && !slices.Contains(taken, f.Path) {
			held := &pawl.Error{Kind: pawl.KindHeld, Err: fmt.Errorf("a session of gyoshu holds the lock %s: %s", f.Path, f.Why)}
			return nil, errors.Join(held, release())
		}
	}
	return release, nil
}

// create creates a lock file. It appears with its whole content: a session would wait for ever for an empty one.
func create(path string) error {
	if _, err := disk.Lstat(filepath.Dir(path)); err != nil {
		return err
	}
	id := disk.RandomHex(16)
	temp := path + "." + id
	if err := disk.Put(temp, content(id, int64(os.Getpid()), Here())); err != nil {
		return err
	}
	return errors.Join(disk.Link(temp, path), disk.Remove(temp))
}

// Limit is how long Gyoshu waits for a lock.
const Limit = 30 * time.Second

// RetryPause is the pause between two tries to take a lock.
const RetryPause = 50 * time.Millisecond

// WithNotebook calls do while it holds the lock of a notebook, if that is the notebook of a research: one in a folder "notebooks". While a
// session holds the lock, it waits up to limit.
func WithNotebook(notebook string, limit time.Duration, do func() error) error {
	folder, file := filepath.Split(notebook)
	title, isNotebook := strings.CutSuffix(file, ".ipynb")
	runtime := FolderHere()
	if !isNotebook || filepath.Base(folder) != "notebooks" || runtime == "" {
		return do()
	}
	for began := time.Now(); ; time.Sleep(RetryPause) {
		release, err := Take([]string{Notebook(runtime, title)})
		if err == nil {
			return errors.Join(do(), release())
		}
		if pawl.KindOf(err) != pawl.KindHeld || time.Since(began) >= limit {
			return err
		}
	}
}
