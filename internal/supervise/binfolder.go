package supervise

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"pawl/internal/disk"
	"pawl/internal/userdir"
)

// programName is the name of the program in a step's PATH.
const programName = "pawl"

// BinFolder returns a folder that contains a link to this program and nothing else, for the PATH of steps. It lies in the
// user's state folder. It is checked at each call: a folder that another program changed is no longer used, and another
// one takes its place.
func BinFolder() (string, error) {
	self, err := ownProgram()
	if err != nil {
		return "", fmt.Errorf("find the pawl program: %w", err)
	}
	parent, err := userdir.State("bin")
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(self))
	folder := filepath.Join(parent, hex.EncodeToString(sum[:6]))
	for n := range maxBinFolders {
		if n > 0 {
			folder = fmt.Sprintf("%s-%d", filepath.Join(parent, hex.EncodeToString(sum[:6])), n)
		}
		err = checkBin(folder, self)
		if errors.Is(err, fs.ErrNotExist) {
			err = makeBin(parent, folder, self)
		}
		if !errors.Is(err, errNotOurs) {
			return folder, err
		}
	}
	return "", err
}

// ownProgram returns the path of this program.
var ownProgram = sync.OnceValues(func() (string, error) {
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self) // on systems that return the link
	}
	return self, err
})

// maxBinFolders is how many changed folders are passed over.
const maxBinFolders = 100

// errNotOurs means that a folder for PATH has another content or other rights than this program gave it.
var errNotOurs = errors.New("changed by another program")

// checkBin returns nil if the folder is as makeBin made it, fs.ErrNotExist, or errNotOurs.
func checkBin(folder, self string) error {
	for _, path := range []string{filepath.Dir(folder), folder} {
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		owner, known := info.Sys().(*syscall.Stat_t)
		if !info.IsDir() || info.Mode().Perm()&0o022 != 0 || !known || int(owner.Uid) != os.Geteuid() {
			return fmt.Errorf("%s: %w", path, errNotOurs)
		}
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	target, err := os.Readlink(filepath.Join(folder, programName))
	if len(entries) != 1 || err != nil || target != self {
		return fmt.Errorf("%s: %w", folder, errNotOurs)
	}
	return nil
}

// makeBin creates the folder with its link at once, or finds that another process has.
func makeBin(parent, folder, self string) error {
	if err := disk.MakeFolders(parent); err != nil {
		return err
	}
	made, err := os.MkdirTemp(parent, ".new-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(made) // it is gone if it was renamed
	if err := disk.Symlink(self, filepath.Join(made, programName)); err != nil {
		return err
	}
	if err := disk.Rename(made, folder); err != nil && !errors.Is(err, fs.ErrExist) && !errors.Is(err, syscall.ENOTEMPTY) {
		return err
	}
	return checkBin(folder, self)
}
