// Package userdir names the folders in which pawl keeps a user's data outside any project. Only the user writes there, so what
// they hold is trusted; files in a project are not.
package userdir

import (
	"fmt"
	"os"
	"path/filepath"
)

// State returns the path of names in pawl's state folder: $PAWL_STATE, else $XDG_STATE_HOME/pawl, else ~/.local/state/pawl. The
// path may be missing.
func State(names ...string) (string, error) {
	if folder := os.Getenv("PAWL_STATE"); filepath.IsAbs(folder) {
		return filepath.Join(append([]string{folder}, names...)...), nil
	}
	return below("XDG_STATE_HOME", ".local/state", names)
}

// Config returns the path of names in the user's configuration folder of pawl: $XDG_CONFIG_HOME/pawl, else ~/.config/pawl. The
// path may be missing.
func Config(names ...string) (string, error) { return below("XDG_CONFIG_HOME", ".config", names) }

// below returns pawl's folder in the folder that variable names, or in the usual one below the home folder.
func below(variable, usual string, names []string) (string, error) {
	base := os.Getenv(variable)
	if !filepath.IsAbs(base) { // the XDG specification ignores relative paths
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("neither $%s nor $HOME is set", variable)
		}
		base = filepath.Join(home, usual)
	}
	return filepath.Join(append([]string{base, "pawl"}, names...)...), nil
}
