package engine

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"pawl/internal/doubt"
	"pawl/internal/project"
	"pawl/internal/snapshot/ignore"
)

// mostCounted is how many files a census looks at.
const mostCounted = 200_000

// census counts a project's files, and those that changed since. What git or .pawlignore ignores does not count, links are
// not followed, and what vanishes meanwhile was not there. It is evidence, not proof: what cannot be read is not counted.
func census(ctx context.Context, root string, since time.Time) doubt.Census {
	c := counter{Census: doubt.Census{Since: since}, now: time.Now()}
	rules, err := ignore.Load(ctx, root, ignore.Options{})
	if err != nil {
		return c.Census
	}
	c.folder(ctx, root, "", rules)
	return c.Census
}

type counter struct {
	doubt.Census
	now time.Time
}

func (c *counter) folder(ctx context.Context, full, name string, rules *ignore.Rules) {
	entries, err := os.ReadDir(full)
	if err != nil && len(entries) == 0 || ctx.Err() != nil {
		return
	}
	for _, e := range entries {
		path := filepath.ToSlash(filepath.Join(name, e.Name()))
		switch {
		case e.Name() == ".git" || e.Name() == project.Folder || c.Total >= mostCounted || rules.Ignored(e.Name(), e.IsDir()):
		case e.IsDir():
			below := filepath.Join(full, e.Name())
			c.folder(ctx, below, path, rules.In(e.Name(), patternsIn(below, ignore.GitFile), patternsIn(below, ignore.PawlFile)))
		case e.Type().IsRegular():
			if info, err := e.Info(); err == nil {
				c.Add(path, info.ModTime(), c.now)
			}
		}
	}
}

// patternsIn returns what a folder's own file of patterns holds, nil where it has none that is read.
func patternsIn(folder, name string) []byte {
	info, err := os.Lstat(filepath.Join(folder, name))
	if err != nil || info.Mode()&fs.ModeType != 0 || info.Size() > maxForeign {
		return nil
	}
	data, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		return nil
	}
	return data
}
