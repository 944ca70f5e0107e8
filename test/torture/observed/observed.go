// Package observed looks at what pawl and its steps left behind, without pawl's own code: files and control groups.
package observed

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Files returns the files below root by path, without what is below the folder to be skipped.
func Files(root, skip string) (map[string]string, error) {
	found := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(root, path) // both are absolute
		switch {
		case err != nil:
			return err
		case d.IsDir() && rel == skip:
			return fs.SkipDir
		case d.Type()&fs.ModeSymlink != 0:
			found[rel], err = os.Readlink(path)
			return err
		case !d.Type().IsRegular():
			return nil
		}
		data, err := os.ReadFile(path)
		found[rel] = string(data)
		return err
	})
	return found, err
}

// Difference says in one line what differs between two sets of files, empty where nothing does.
func Difference(got, want map[string]string) string {
	for path, content := range want {
		if now, ok := got[path]; !ok {
			return path + " is missing"
		} else if now != content {
			return fmt.Sprintf("%s holds %.200q (%d bytes) instead of %.200q (%d bytes)", path, now, len(now), content, len(content))
		}
	}
	for path := range got {
		if _, ok := want[path]; !ok {
			return path + " is there too"
		}
	}
	return ""
}

// LastSaid returns what follows the mark in the last line of each log that has it.
func LastSaid(logs, mark string) (said []string) {
	paths, _ := filepath.Glob(logs) // the pattern is valid
	for _, path := range paths {
		last := ""
		data, _ := os.ReadFile(path) // what cannot be read says nothing
		for line := range strings.Lines(string(data)) {
			if _, text, ok := strings.Cut(line, mark); ok {
				last = strings.TrimSpace(text)
			}
		}
		said = append(said, last)
	}
	return said
}

// ControlGroups returns the control groups of attempts with these tokens.
func ControlGroups(tokens []string) []string {
	if len(tokens) == 0 {
		return nil
	}
	return slices.DeleteFunc(allControlGroups(), func(group string) bool {
		token, ours := strings.CutPrefix(filepath.Base(group), "pawl-")
		return !ours || !slices.Contains(tokens, token)
	})
}

// allControlGroups returns pawl's groups below every mounted cgroup of version 2.
func allControlGroups() []string {
	var groups []string
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return nil
	}
	for mount := range strings.Lines(string(mounts)) {
		fields := strings.Fields(mount)
		if len(fields) < 3 || fields[2] != "cgroup2" {
			continue
		}
		filepath.WalkDir(fields[1], func(path string, d fs.DirEntry, err error) error { // what vanishes meanwhile is gone
			switch {
			case errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission):
				return fs.SkipDir
			case err != nil:
				return err
			case d.IsDir() && strings.HasPrefix(d.Name(), "pawl-"):
				groups = append(groups, path)
			}
			return nil
		})
	}
	return groups
}
