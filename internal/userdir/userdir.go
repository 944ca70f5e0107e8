// Package userdir names the folders in which pawl keeps a user's data outside any project. Only the user writes there, so what
// they hold is trusted; files in a project are not. A folder of another user is refused: with sudo, HOME can be that of the caller.
package userdir

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"pawl"
)

// State returns the path of names in pawl's state folder: $PAWL_STATE, else $XDG_STATE_HOME/pawl, else ~/.local/state/pawl. The
// path may be missing.
func State(names ...string) (string, error) {
	folder := os.Getenv("PAWL_STATE")
	if !filepath.IsAbs(folder) {
		var err error
		if folder, err = below(os.Getenv, "XDG_STATE_HOME", ".local/state"); err != nil {
			return "", err
		}
	}
	if err := checkOwner(folder); err != nil {
		return "", &pawl.Error{Kind: pawl.KindDamaged, Err: fmt.Errorf("%w: set PAWL_STATE to a folder of your own", err)}
	}
	return filepath.Join(append([]string{folder}, names...)...), nil
}

// Config returns the path of names in the user's configuration folder of pawl: $XDG_CONFIG_HOME/pawl, else ~/.config/pawl. The
// path may be missing.
func Config(names ...string) (string, error) { return ConfigOf(os.Getenv, names...) }

// ConfigOf is Config for another environment than that of this process.
func ConfigOf(getenv func(string) string, names ...string) (string, error) {
	folder, err := below(getenv, "XDG_CONFIG_HOME", ".config")
	if err == nil {
		err = checkOwner(folder)
	}
	if err != nil {
		return "", err
	}
	return filepath.Join(append([]string{folder}, names...)...), nil
}

// Within reports whether a folder, which may be missing, lies in the project at root, whatever links lead there. An environment that
// came with the project's files could name such a folder, so nothing in it is the user's.
func Within(folder, root string) bool {
	rest := ""
	for {
		real, err := filepath.EvalSymlinks(folder)
		if err == nil {
			rel, err := filepath.Rel(root, filepath.Join(real, rest))
			return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
		}
		if folder == "/" || folder == "." {
			return false
		}
		folder, rest = filepath.Dir(folder), filepath.Join(filepath.Base(folder), rest)
	}
}

// checkOwner returns an error if a folder, or the nearest one above it that exists, belongs to neither this user nor root.
func checkOwner(folder string) error {
	info, err := os.Stat(folder)
	for err != nil && folder != "/" {
		folder = filepath.Dir(folder)
		info, err = os.Stat(folder)
	}
	if owner := ownerOf(info); owner > 0 && owner != os.Geteuid() {
		return fmt.Errorf("the folder %s belongs to another user (id %d)", folder, owner)
	}
	return nil
}

// ownerOf returns the id of the user that a folder belongs to; -1 if unknown.
func ownerOf(info fs.FileInfo) int {
	if info == nil {
		return -1
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(stat.Uid)
	}
	return -1
}

// below returns pawl's folder in the folder that variable names, or in the usual one below the home folder.
func below(getenv func(string) string, variable, usual string) (string, error) {
	base := getenv(variable)
	if !filepath.IsAbs(base) { // the XDG specification ignores relative paths
		home := getenv("HOME")
		if home == "" {
			return "", fmt.Errorf("neither $%s nor $HOME is set", variable)
		}
		base = filepath.Join(home, usual)
	}
	return filepath.Join(base, "pawl"), nil
}
