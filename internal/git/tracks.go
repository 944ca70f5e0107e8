package git

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// Tracks reports whether git tracks a file below folder. Outside of a repository it does not. It returns an error if git does not answer.
func Tracks(folder, file string) (bool, error) {
	if inside, err := inRepository(folder); err != nil || !inside {
		return false, err
	}
	reading.Lock()
	defer reading.Unlock()
	if err := hanging(folder, unreadable[folder]); err != nil {
		return false, err
	}
	program, all, err := commandLine(folder, []string{"ls-files", "-z", "--", file})
	if err != nil {
		return false, err
	}
	cmd := prepared(exec.Command(program, all...), folder, os.Environ())
	var out printed
	cmd.Stdout = &out
	late, err := runFor(settingsLimit, cmd)
	if late {
		unreadable[folder] = true
		err = hanging(folder, true)
	}
	return bool(out), err
}

// printed is a writer that only knows whether something was written.
type printed bool

func (p *printed) Write(data []byte) (int, error) {
	*p = *p || len(data) > 0
	return len(data), nil
}

// inRepository reports whether a folder or one above it has a .git.
func inRepository(folder string) (bool, error) {
	for {
		_, err := os.Lstat(filepath.Join(folder, ".git"))
		if !errors.Is(err, fs.ErrNotExist) {
			return err == nil, err
		}
		above := filepath.Dir(folder)
		if above == folder {
			return false, nil
		}
		folder = above
	}
}
