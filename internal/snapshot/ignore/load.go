package ignore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Options configure Load.
type Options struct {
	// Patterns take precedence over every file. Defaults to none.
	Patterns []string
	// Defaults come after every .pawlignore and before git's rules. Defaults to none.
	Defaults []string
	// Variant names further rules of the caller, so that the sums differ if these do. Defaults to none.
	Variant string
	// Env is the environment used to find git's settings. Defaults to that of the process.
	Env []string
	// Own returns the content of the root's own .gitignore or .pawlignore, or nil. Defaults to reading them.
	Own func(name string) ([]byte, error)
	// Repository is the one that contains root, as FindRepository returns it. Defaults to finding it.
	Repository *Repository
}

// Load returns the rules for the folder root: git's excludes file, the repository's info/exclude, the .gitignore files
// from the top of the repository down to root, and root's own .gitignore and .pawlignore. Without a repository, only
// root's own files count; the same holds if the repository ignores root.
//
// Load runs git once to read its settings, if git is installed and there is a repository.
func Load(ctx context.Context, root string, options Options) (*Rules, error) {
	root, err := realPath(root)
	if err != nil {
		return nil, err
	}
	if options.Env == nil {
		options.Env = os.Environ()
	}
	if options.Own == nil {
		options.Own = func(name string) ([]byte, error) { return readOwn(filepath.Join(root, name)) }
	}
	rules, err := loadAbove(ctx, root, options.Env, options.Repository)
	if err != nil {
		return nil, err
	}
	gitignore, err := options.Own(GitFile)
	if err != nil {
		return nil, err
	}
	pawlignore, err := options.Own(PawlFile)
	if err != nil {
		return nil, err
	}
	rules = rules.with(gitignore, pawlignore)
	settings := parseList("config", len(rules.folder), []byte(strings.Join(options.Patterns, "\n")))
	rules.pawl = prepend(settings, rules.pawl)
	if defaults := parseList(DefaultsFile, len(rules.folder), []byte(strings.Join(options.Defaults, "\n"))); len(defaults.patterns) > 0 {
		rules.pawl = append(slices.Clip(rules.pawl), defaults)
	}
	rules.sum = rules.sum.add("config", []byte(strings.Join(options.Patterns, "\n")))
	rules.sum = rules.sum.add("defaults", []byte(strings.Join(options.Defaults, "\n")))
	rules.sum = rules.sum.add("variant", []byte(options.Variant))
	return rules, nil
}

func realPath(root string) (string, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return "", fmt.Errorf("find the project's folder: %w", err)
	}
	root, err = filepath.EvalSymlinks(root)
	if err != nil {
		return "", fmt.Errorf("find the project's folder: %w", err)
	}
	return root, nil
}

// loadAbove returns the rules for root without its own files.
func loadAbove(ctx context.Context, root string, env []string, repo *Repository) (*Rules, error) {
	if repo == nil {
		found, _, err := FindRepository(root)
		if err != nil {
			return nil, err
		}
		repo = &found
	}
	if repo.Top == "" {
		return &Rules{top: root}, nil
	}
	rules, err := repo.rules(ctx, env)
	if err != nil {
		return nil, err
	}
	if rules, err = rules.down(root); err != nil {
		return nil, err
	}
	if rules.ignored != nil {
		return &Rules{top: root}, nil
	}
	return rules, nil
}

// down enters each folder from the top of the repository to root, and reads the .gitignore of those above root.
func (r *Rules) down(root string) (*Rules, error) {
	below, err := filepath.Rel(r.top, root)
	if err != nil {
		return nil, fmt.Errorf("find the project in its repository: %w", err)
	}
	if below == "." {
		return r, nil
	}
	for name := range strings.SplitSeq(below, string(filepath.Separator)) {
		gitignore, err := readOwn(filepath.Join(r.top, r.folder, GitFile))
		if err != nil {
			return nil, err
		}
		r = r.with(gitignore, nil).enter(name)
	}
	return r, nil
}

// readOwn reads a pattern file in the work tree without following links, like git.
func readOwn(path string) ([]byte, error) { return read(path, syscall.O_NOFOLLOW) }

// maxList is the size in bytes above which git ignores a list of patterns (PATTERN_MAX_FILE_SIZE in dir.c).
const maxList = 100 << 20

// read returns nil if git would read nothing either: the file is missing, unreadable or not a regular file.
func read(path string, flags int) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|flags, 0)
	for _, absent := range []error{fs.ErrNotExist, fs.ErrPermission, syscall.ELOOP, syscall.ENOTDIR, syscall.ENXIO} {
		if errors.Is(err, absent) {
			return nil, nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read ignore rules: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read ignore rules: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() > maxList {
		return nil, nil
	}
	var data bytes.Buffer
	if _, err := io.Copy(&data, io.LimitReader(f, maxList)); err != nil {
		return nil, fmt.Errorf("read ignore rules: %w", err)
	}
	return data.Bytes(), nil
}
