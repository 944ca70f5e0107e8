package evidence

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"pawl/internal/disk"
	"pawl/internal/project"
	"pawl/internal/snapshot/ignore"
)

// mostCounted is how many files a census covers.
const mostCounted = 200_000

// others are folders with third-party or generated files, unless a .pawlignore includes them.
var others = []string{
	"node_modules/", "bower_components/", "jspm_packages/", ".yarn/", ".pnpm-store/", ".venv/", "venv/", "virtualenv/", "site-packages/",
	"__pycache__/", ".tox/", ".nox/", "*.egg-info/", ".mypy_cache/", ".pytest_cache/", ".ruff_cache/", "vendor/", "third_party/", "Pods/",
	".gradle/", ".terraform/", ".next/", ".nuxt/", ".svelte-kit/", ".dart_tool/", ".bundle/",
}

// marks are files that mark a folder as a virtual environment or a cache.
var marks = []string{"pyvenv.cfg", "CACHEDIR.TAG"}

// CountFiles counts a project's files except but, and those changed since. It skips ignored, third-party and generated
// files and does not follow links. It is best effort: what cannot be read is not counted.
func CountFiles(ctx context.Context, root string, since time.Time, but ...string) Census {
	c := counter{Census: Census{Since: since}, now: time.Now(), but: but}
	rules, err := ignore.Load(ctx, root, ignore.Options{Defaults: others})
	if err != nil {
		return c.Census
	}
	c.folder(ctx, root, "", rules)
	return c.Census
}

type counter struct {
	Census
	now time.Time
	but []string
}

func (c *counter) folder(ctx context.Context, full, name string, rules *ignore.Rules) {
	entries, err := os.ReadDir(full)
	if err != nil && len(entries) == 0 || ctx.Err() != nil || name != "" && slices.ContainsFunc(entries, isMark) {
		return
	}
	for _, e := range entries {
		path := filepath.ToSlash(filepath.Join(name, e.Name()))
		switch {
		case e.Name() == ".git" || e.Name() == project.Folder || c.Total >= mostCounted || rules.Ignored(e.Name(), e.IsDir()):
		case e.IsDir():
			below := filepath.Join(full, e.Name())
			c.folder(ctx, below, path, rules.In(e.Name(), patternsIn(below, ignore.GitFile), patternsIn(below, ignore.PawlFile)))
		case e.Type().IsRegular() && !slices.Contains(c.but, path):
			if info, err := e.Info(); err == nil {
				c.Add(path, info.ModTime(), c.now)
			}
		}
	}
}

func isMark(e fs.DirEntry) bool { return slices.Contains(marks, e.Name()) }

// maxPatterns is the maximum size of an ignore file, in bytes.
const maxPatterns = 16 << 20

// patternsIn returns the content of a folder's ignore file, nil if there is none or it cannot be read.
func patternsIn(folder, name string) []byte {
	info, err := os.Lstat(filepath.Join(folder, name))
	if err != nil || info.Mode()&fs.ModeType != 0 || info.Size() > maxPatterns {
		return nil
	}
	data, err := disk.ReadFile(filepath.Join(folder, name), maxPatterns)
	if err != nil {
		return nil
	}
	return data
}
