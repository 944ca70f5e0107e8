package main

import (
	"fmt"
	"path/filepath"
)

// borgKeeper is borg with a repository without encryption, and otherwise as it is by default.
type borgKeeper struct {
	b         *bench
	dir, root string
	env       []string
	version   string
	archives  int
}

func (b *bench) newBorg(home, root string) (*borgKeeper, error) {
	g := &borgKeeper{b: b, root: root, dir: filepath.Join(home, "borg")}
	g.env = []string{"BORG_BASE_DIR=" + home, "BORG_REPO=" + g.dir, "BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK=yes"}
	_, said, err := g.run(root, "--version")
	if err != nil {
		return nil, err
	}
	g.version = said
	_, _, err = g.run(root, "init", "--encryption", "none")
	return g, err
}

func (g *borgKeeper) name() string { return g.version }

func (g *borgKeeper) how(d deed) string {
	switch d {
	case broughtTen, broughtAll:
		return "`borg extract`"
	}
	return "`borg create`"
}

func (g *borgKeeper) store() string { return g.dir }

func (g *borgKeeper) run(folder string, args ...string) (usage, string, error) {
	return g.b.timed(folder, g.env, append([]string{"borg"}, args...)...)
}

// archive names the newest archive.
func (g *borgKeeper) archive() string { return fmt.Sprintf("::%d", g.archives) }

func (g *borgKeeper) take() (usage, error) {
	g.archives++
	u, _, err := g.run(g.root, "create", "--exclude", "pp:.pawl", g.archive(), ".")
	return u, err
}

func (g *borgKeeper) bringBack(paths []string) (usage, error) {
	u, _, err := g.run(g.root, append([]string{"extract", g.archive()}, paths...)...)
	return u, err
}

func (g *borgKeeper) bringAll(folder string) (usage, error) {
	u, _, err := g.run(folder, "extract", g.archive())
	return u, err
}
