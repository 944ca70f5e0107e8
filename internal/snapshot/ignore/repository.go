package ignore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"pawl/internal/git"
)

// A Repository is a git repository, seen from one of its work trees.
type Repository struct {
	Top    string // top of the work tree
	Dir    string // .git, or the folder that it points to in a linked work tree or submodule
	Common string // Dir, or the .git of the main work tree
}

// FindRepository finds the repository that contains folder, which must be an absolute path.
func FindRepository(folder string) (Repository, bool, error) {
	for {
		repo, ok, err := openRepository(folder)
		if ok || err != nil {
			return repo, ok, err
		}
		above := filepath.Dir(folder)
		if above == folder {
			return Repository{}, false, nil
		}
		folder = above
	}
}

// openRepository reports whether top is the top of a work tree. Like git, it requires a HEAD in .git.
func openRepository(top string) (Repository, bool, error) {
	dir := filepath.Join(top, ".git")
	link, err := read(dir, 0)
	if err != nil {
		return Repository{}, false, err
	}
	if link != nil {
		target, ok := strings.CutPrefix(strings.TrimRight(string(link), "\r\n"), "gitdir: ")
		if !ok {
			return Repository{}, false, nil
		}
		dir = below(top, target)
		if !belongs(top, dir) {
			return Repository{}, false, nil
		}
	}
	switch _, err := os.Lstat(filepath.Join(dir, "HEAD")); {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return Repository{}, false, nil
	case err != nil && link == nil: // .git is neither a folder nor a file
		return Repository{}, false, nil
	case err != nil:
		return Repository{}, false, fmt.Errorf("find the repository: %w", err)
	}
	common, err := read(filepath.Join(dir, "commondir"), 0)
	if err != nil {
		return Repository{}, false, err
	}
	return Repository{Top: top, Dir: dir, Common: below(dir, strings.TrimRight(string(common), "\r\n"))}, true, nil
}

// belongs reports whether the folder dir, which the file .git in top names, belongs to top: both have the same owner and, if
// it is the folder of a linked work tree, it names that file in turn. Otherwise a file that arrived in an archive could
// claim any repository.
func belongs(top, dir string) bool {
	file, err := os.Lstat(filepath.Join(top, ".git"))
	if err != nil {
		return false
	}
	folder, err := os.Stat(dir)
	if err != nil || !sameOwner(file, folder) {
		return false
	}
	if _, err := os.Lstat(filepath.Join(dir, "commondir")); err != nil {
		return errors.Is(err, fs.ErrNotExist) // a submodule, or a repository with a separate folder
	}
	back, err := read(filepath.Join(dir, "gitdir"), 0)
	if err != nil || back == nil {
		return false
	}
	named, err := os.Lstat(below(dir, strings.TrimRight(string(back), "\r\n")))
	return err == nil && os.SameFile(named, file)
}

func sameOwner(a, b fs.FileInfo) bool {
	statA, okA := a.Sys().(*syscall.Stat_t)
	statB, okB := b.Sys().(*syscall.Stat_t)
	return okA && okB && statA.Uid == statB.Uid
}

// rules returns the rules of the excludes file and, with precedence, of info/exclude.
func (g Repository) rules(ctx context.Context, env []string) (*Rules, error) {
	settings, err := g.settings(ctx, env)
	if err != nil {
		return nil, err
	}
	r := &Rules{top: g.Top, fold: settings.ignoreCase}
	if r.fold {
		r.sum = r.sum.add("ignoreCase", nil)
	}
	for _, file := range []string{settings.excludesFile, filepath.Join(g.Common, "info", "exclude")} {
		if file == "" {
			continue
		}
		data, err := read(file, 0)
		if err != nil {
			return nil, err
		}
		r.git = prepend(parseList(file, 0, data), r.git)
		r.sum = r.sum.read("excludes", data)
	}
	return r, nil
}

// settings are the parts of git's configuration that affect the rules.
type settings struct {
	excludesFile string // absolute, or empty
	ignoreCase   bool
}

// settings runs git, since its configuration has includes, conditions and many sources. Without git it returns the
// defaults.
func (g Repository) settings(ctx context.Context, env []string) (settings, error) {
	home := value(env, "HOME")
	configHome := value(env, "XDG_CONFIG_HOME")
	if configHome == "" && home != "" {
		configHome = filepath.Join(home, ".config")
	}
	s := settings{}
	if configHome != "" {
		s.excludesFile = filepath.Join(configHome, "git", "ignore")
	}
	out, err := g.config(ctx, env)
	if err != nil {
		return settings{}, err
	}
	for entry := range bytes.SplitSeq(out, []byte{0}) {
		key, set, hasValue := strings.Cut(string(entry), "\n")
		switch {
		case key == "core.excludesfile":
			s.excludesFile = g.expand(set, home)
		case key == "core.ignorecase":
			s.ignoreCase = !hasValue || isTrue(set)
		}
	}
	return s, nil
}

// config returns the settings, the effective value last.
func (g Repository) config(ctx context.Context, env []string) ([]byte, error) {
	cmd, err := git.Command(ctx, g.Top, env, "config", "--null", "--get-regexp", `^core\.(excludesfile|ignorecase)$`)
	var out []byte
	if err == nil {
		out, err = cmd.Output()
	}
	var exit *exec.ExitError
	switch {
	case errors.Is(err, exec.ErrNotFound), errors.As(err, &exit) && exit.ExitCode() == 1: // 1: nothing is set
		return nil, nil
	case exit != nil:
		return nil, fmt.Errorf("read git's settings: %w: %s", err, bytes.TrimSpace(exit.Stderr))
	case err != nil:
		return nil, fmt.Errorf("read git's settings: %w", err)
	}
	return out, nil
}

// expand makes a path from the settings absolute. An empty path stays empty, and means no file.
func (g Repository) expand(path, home string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(home, rest)
	}
	if path == "" {
		return ""
	}
	return below(g.Top, path)
}

// isTrue parses a boolean as git does.
func isTrue(value string) bool {
	switch strings.ToLower(value) {
	case "true", "yes", "on":
		return true
	}
	number, err := strconv.Atoi(value)
	return err == nil && number != 0
}

// below resolves path relative to folder.
func below(folder, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(folder, path)
}

// value returns the last value of a variable in an environment.
func value(env []string, name string) string {
	for _, v := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}
