package account

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"pawl"
)

// Exposed says what the user can do to the files, the first finding only; empty: nothing. The user must not be able to change, replace or
// remove what is in fixed, and also not to read what is in secret. Missing files count by their folders.
func Exposed(a *pawl.Account, fixed, secret []string) (finding string, err error) {
	err = as(a, func(may access) {
		for _, path := range append(fixed[:len(fixed):len(fixed)], secret...) {
			if finding = changes(a, path, may); finding != "" {
				return
			}
		}
		for _, path := range secret {
			if may(path, readable) {
				finding = fmt.Sprintf("%s can read %s", a.Name, path)
				return
			}
		}
	})
	return finding, err
}

// access reports whether the user can open an existing path in a way.
type access func(path string, how uint32) bool

// Ways to open a path.
const (
	searchable uint32 = 1
	writable   uint32 = 2
	readable   uint32 = 4
)

// changes says how the user can change a path, or put another file in its place.
func changes(a *pawl.Account, path string, may access) string {
	if real, err := filepath.EvalSymlinks(path); err == nil && real != path {
		if finding := changes(a, real, may); finding != "" {
			return finding
		}
	}
	if may(path, writable) {
		return fmt.Sprintf("%s can write %s", a.Name, path)
	}
	for at := path; at != filepath.Dir(at); at = filepath.Dir(at) {
		folder := filepath.Dir(at)
		if may(folder, writable|searchable) && !(sticky(folder) && !owns(a, folder) && !owns(a, at)) || owns(a, folder) {
			return fmt.Sprintf("%s can replace %s, which is in %s", a.Name, at, folder)
		}
	}
	return ""
}

// sticky reports whether only owners can rename and remove what is in a folder.
func sticky(folder string) bool {
	info, err := os.Stat(folder)
	return err == nil && info.Mode()&os.ModeSticky != 0
}

// owns reports whether a path belongs to the user, who could then give anybody access to it.
func owns(a *pawl.Account, path string) bool {
	info, err := os.Lstat(path)
	if err != nil {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return !ok || stat.Uid == a.UID
}
