package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// keeper is a program that keeps the content of a tree.
type keeper interface {
	name() string
	how(d deed) string                       // the command that does it
	store() string                           // the folder in which it keeps it
	take() (usage, error)                    // keeps all as it is now
	bringBack(paths []string) (usage, error) // as they were when it was last kept
	bringAll(folder string) (usage, error)   // into an empty folder
}

// keepersOf makes a keeper of each kind for a tree, pawl first. Those of others keep their stores outside of it.
func (b *bench) keepersOf(t *tree) ([]keeper, error) {
	home := t.root + "-keepers"
	if err := os.MkdirAll(home, 0o700); err != nil {
		return nil, err
	}
	p := &pawlKeeper{b: b, root: t.root, env: []string{"HOME=" + home, "XDG_STATE_HOME=" + home}}
	if _, err := p.run("init"); err != nil {
		return nil, err
	}
	keepers := []keeper{p}
	for _, shadow := range []bool{false, true} {
		g, err := b.newGit(home, t.root, shadow)
		if err != nil {
			return nil, err
		}
		keepers = append(keepers, g)
	}
	if _, err := exec.LookPath("restic"); err == nil {
		r, err := b.newRestic(home, t.root)
		if err != nil {
			return nil, err
		}
		keepers = append(keepers, r)
	}
	if _, err := exec.LookPath("borg"); err == nil {
		g, err := b.newBorg(home, t.root)
		if err != nil {
			return nil, err
		}
		keepers = append(keepers, g)
	}
	return keepers, nil
}

// ours is the name of pawlKeeper.
const ours = "pawl"

// pawlKeeper is the real binary.
type pawlKeeper struct {
	b          *bench
	root       string
	env        []string
	checkpoint string // the newest
	out        string
}

func (p *pawlKeeper) name() string { return ours }

func (p *pawlKeeper) how(d deed) string {
	switch d {
	case broughtTen, besideTen, broughtAll:
		return "`pawl restore`"
	}
	return "`pawl checkpoint`"
}

func (p *pawlKeeper) store() string { return filepath.Join(p.root, ".pawl", "snapshots") }

func (p *pawlKeeper) run(args ...string) (u usage, err error) {
	u, p.out, err = p.b.timed(p.root, p.env, append([]string{p.b.pawl}, args...)...)
	return u, err
}

func (p *pawlKeeper) take() (usage, error) {
	u, err := p.run("checkpoint", "--json")
	if err != nil {
		return u, err
	}
	var said struct{ Checkpoint string }
	err = json.Unmarshal([]byte(p.out), &said)
	p.checkpoint = said.Checkpoint
	return u, err
}

func (p *pawlKeeper) bringBack(paths []string) (usage, error) {
	return p.run(append([]string{"restore", p.checkpoint, "--yes"}, paths...)...)
}

// bringAside writes paths as they were into a folder that does not exist.
func (p *pawlKeeper) bringAside(paths []string, folder string) (usage, error) {
	return p.run(append([]string{"restore", p.checkpoint, "--to", folder}, paths...)...)
}

func (p *pawlKeeper) bringAll(folder string) (usage, error) {
	return p.run("restore", p.checkpoint, "--to", folder)
}

// The two ways.
const (
	plainGit  = "git"
	shadowGit = "shadow git"
)

// gitKeeper is git in one of two ways: as people use it, or as agents do behind their backs, with an index and a
// repository of their own. Neither of the two syncs what it writes.
type gitKeeper struct {
	b      *bench
	dir    string
	root   string
	env    []string
	shadow bool
	commit string
	added  usage // of the last add
}

func (b *bench) newGit(home, root string, shadow bool) (*gitKeeper, error) {
	g := &gitKeeper{b: b, root: root, shadow: shadow, dir: filepath.Join(home, "git")}
	if shadow {
		g.dir = filepath.Join(home, "shadow")
	}
	config := filepath.Join(home, "gitconfig")
	const text = "[user]\nname = bench\nemail = bench@localhost\n[gc]\nauto = 0\n[maintenance]\nauto = false\n[init]\ndefaultBranch = main\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	g.env = []string{
		"HOME=" + home, "XDG_CONFIG_HOME=" + home, "GIT_CONFIG_GLOBAL=" + config, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_DIR=" + g.dir, "GIT_WORK_TREE=" + root,
	}
	if _, _, err := g.run("init", "-q", "--template="); err != nil {
		return nil, err
	}
	exclude := filepath.Join(g.dir, "info", "exclude")
	return g, errors.Join(os.MkdirAll(filepath.Dir(exclude), 0o700), os.WriteFile(exclude, []byte(".pawl\n"), 0o600))
}

func (g *gitKeeper) name() string {
	if g.shadow {
		return shadowGit
	}
	return plainGit
}

func (g *gitKeeper) how(d deed) string {
	switch {
	case d == broughtAll:
		return "`git checkout-index -a`"
	case d == broughtTen && g.shadow:
		return "shadow git: `checkout-index -f`"
	case d == broughtTen:
		return "`git checkout HEAD -- …`"
	case g.shadow:
		return "shadow git: `add -A`, `write-tree`, `commit-tree`"
	}
	return "`git add -A && git commit`"
}

func (g *gitKeeper) store() string { return g.dir }

func (g *gitKeeper) run(args ...string) (usage, string, error) {
	return g.b.timed(g.root, g.env, append([]string{"git"}, args...)...)
}

func (g *gitKeeper) take() (usage, error) { return g.add("-A") }

// add keeps what the arguments of git add name.
func (g *gitKeeper) add(what ...string) (u usage, err error) {
	if g.added, _, err = g.run(append([]string{"add"}, what...)...); err != nil {
		return usage{}, err
	}
	if !g.shadow {
		committed, _, err := g.run("commit", "-q", "--allow-empty", "-m", "kept")
		g.commit = "HEAD"
		return g.added.and(committed), err
	}
	written, tree, err := g.run("write-tree")
	if err != nil {
		return usage{}, err
	}
	args := []string{"commit-tree", tree, "-m", "kept"}
	if g.commit != "" {
		args = append(args, "-p", g.commit)
	}
	committed, commit, err := g.run(args...)
	g.commit = commit
	return g.added.and(written).and(committed), err
}

func (g *gitKeeper) bringBack(paths []string) (usage, error) {
	if g.shadow {
		u, _, err := g.run(append([]string{"checkout-index", "-f", "--"}, paths...)...)
		return u, err
	}
	u, _, err := g.run(append([]string{"checkout", "-q", g.commit, "--"}, paths...)...)
	return u, err
}

// bringBackSynced is bringBack, and returns once the files are on disk.
func (g *gitKeeper) bringBackSynced(paths []string) (usage, error) {
	u, _, err := g.run(append([]string{"restore", "--"}, paths...)...)
	if err != nil {
		return u, err
	}
	synced, _, err := g.b.timed(g.root, g.env, "sync", "-f", g.root)
	return u.and(synced), err
}

func (g *gitKeeper) bringAll(folder string) (usage, error) {
	u, _, err := g.run("checkout-index", "-a", "--prefix="+folder+"/")
	return u, err
}

// resticKeeper is restic with a repository in a folder, as it is by default but for the cache, which a local repository
// does not need.
type resticKeeper struct {
	b         *bench
	dir, root string
	env       []string
	version   string
}

func (b *bench) newRestic(home, root string) (*resticKeeper, error) {
	r := &resticKeeper{b: b, root: root, dir: filepath.Join(home, "restic")}
	r.env = []string{"HOME=" + home, "RESTIC_PASSWORD=bench", "RESTIC_REPOSITORY=" + r.dir}
	_, said, err := r.run("version")
	if err != nil {
		return nil, err
	}
	if words := strings.Fields(said); len(words) > 1 {
		r.version = words[1]
	}
	_, _, err = r.run("init")
	return r, err
}

func (r *resticKeeper) name() string { return "restic " + r.version }

func (r *resticKeeper) how(d deed) string {
	switch d {
	case broughtTen, broughtAll:
		return "`restic restore`"
	}
	return "`restic backup`"
}

func (r *resticKeeper) store() string { return r.dir }

func (r *resticKeeper) run(args ...string) (usage, string, error) {
	return r.b.timed(r.root, r.env, append([]string{"restic", "--no-cache", "--quiet"}, args...)...)
}

func (r *resticKeeper) take() (usage, error) {
	u, _, err := r.run("backup", "--exclude", ".pawl", ".")
	return u, err
}

func (r *resticKeeper) bringBack(paths []string) (usage, error) {
	args := []string{"restore", "latest", "--target", r.root}
	for _, path := range paths {
		args = append(args, "--include", "/"+path)
	}
	u, _, err := r.run(args...)
	return u, err
}

func (r *resticKeeper) bringAll(folder string) (usage, error) {
	u, _, err := r.run("restore", "latest", "--target", folder)
	return u, err
}
