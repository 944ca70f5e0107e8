package main

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

var testFunc = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)

// findTests returns the packages of each test, and of each story.
func findTests(root string) (map[string][]string, error) {
	found := map[string][]string{}
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		rel = path.Dir(filepath.ToSlash(rel))
		switch {
		case d.IsDir() && file != root && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir // .git
		case strings.HasSuffix(file, ".txtar") && strings.HasPrefix(rel, "test/stories/"):
			name := strings.TrimSuffix(d.Name(), ".txtar")
			found[name] = append(found[name], path.Dir(rel))
		case strings.HasSuffix(file, "_test.go"):
			data, err := os.ReadFile(file)
			for _, m := range testFunc.FindAllSubmatch(data, -1) {
				found[string(m[1])] = append(found[string(m[1])], rel)
			}
			return err
		}
		return nil
	})
	return found, err
}

// isStory reports whether a name is that of a story.
func isStory(name string) bool {
	return !strings.HasPrefix(name, "Test") && !strings.HasPrefix(name, "Fuzz")
}

// packageOf returns the package of a test. Of several tests with one name it is that of the mutated file's package.
func packageOf(name, file string, tests map[string][]string) (string, error) {
	packages := tests[name]
	switch own := path.Dir(file); {
	case slices.Contains(packages, own):
		return own, nil
	case len(packages) == 1:
		return packages[0], nil
	default:
		return "", fmt.Errorf("%s is in %d packages, and not in that of %s", name, len(packages), file)
	}
}
