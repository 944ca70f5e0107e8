package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/project"
	"pawl/internal/snapshot"
)

// partialRestores is row 3b.
func (b *bench) partialRestores() ([]line, error) {
	trials, err := b.trials()
	if err != nil {
		return nil, err
	}
	for _, t := range trials {
		if err := errors.Join(t.back(b.full(5, 1)), t.aside(b.full(5, 1))); err != nil {
			return nil, err
		}
	}
	t, goals := last(trials), map[string]goal{gitSynced: {ratio: 1}}
	return append(t.lines(broughtTen, "restore of 10 of %d files", goals), t.lines(besideTen, "the same with --to, of %d files", goals)...), nil
}

// watchedSnapshots is row 3c.
func (b *bench) watchedSnapshots() ([]line, error) {
	trials, err := b.trials()
	if err != nil {
		return nil, err
	}
	for _, t := range trials {
		if err := t.watched(b.full(10, 2)); err != nil {
			return nil, err
		}
	}
	t := last(trials)
	m, _ := t.against(keptWatched, inProcess, gitTold)
	g := goal{ratio: 0.5, limit: 20 * time.Millisecond}
	if b.short { // the goal is that of the large tree
		g = goal{}
	}
	return []line{m.line(fmt.Sprintf("checkpoint of %d files, 10 changed, in a process that watches them", t.tree.files), gitTold, g)}, nil
}

// watched measures what a snapshot takes when ten files have changed and a living process of pawl watches the tree, and what git takes that gets
// the paths of these files.
func (t *trial) watched(rounds int) (err error) {
	p, err := project.Find(t.tree.root)
	if err != nil {
		return err
	}
	store, err := snapshot.Open(t.b, snapshot.Config{Root: p.Root, Dir: p.Snapshots()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	store.Watch()
	shadow, ok := t.keepers[2].(*gitKeeper)
	if !ok || !shadow.shadow {
		return errors.New("the third keeper is not shadow git")
	}
	var paths []string
	return t.inTurns(keptWatched, rounds, []subject{
		{inProcess, clocked(func() error {
			_, err := store.Take(t.b, snapshot.Stamp{Kind: pawl.CheckpointTool, Why: "bench"})
			return err
		})},
		{gitTold, func() (usage, error) { return shadow.add(append([]string{"--"}, paths...)...) }},
	}, func() error {
		t.round++
		paths, err = t.tree.edit(t.round)
		return err
	})
}

// principals returns pawl, and git as people use it.
func (t *trial) principals() (*pawlKeeper, *gitKeeper, error) {
	p, isPawl := t.keepers[0].(*pawlKeeper)
	g, isGit := t.keepers[1].(*gitKeeper)
	if !isPawl || !isGit {
		return nil, nil, errors.New("the first keepers are not pawl and git")
	}
	return p, g, nil
}

// back measures what it takes to bring ten files back that were written over.
func (t *trial) back(rounds int) error {
	_, g, err := t.principals()
	if err != nil {
		return err
	}
	subjects := []subject{{gitSynced, func() (usage, error) { return t.bringTen(g.bringBackSynced) }}}
	for _, k := range t.keepers {
		subjects = append(subjects, subject{k.name(), func() (usage, error) { return t.bringTen(k.bringBack) }})
	}
	return t.inTurns(broughtTen, rounds, subjects, func() error { return nil })
}

// aside measures what it takes to write ten files as they were into another folder, and git's restore of them in place.
func (t *trial) aside(rounds int) error {
	p, g, err := t.principals()
	if err != nil {
		return err
	}
	return t.inTurns(besideTen, rounds, []subject{
		{gitSynced, func() (usage, error) { return t.bringTen(g.bringBackSynced) }},
		{ours, func() (usage, error) { return t.tenAside(p) }},
	}, func() error { return nil })
}

// bringTen spoils ten files and has them brought back as they were.
func (t *trial) bringTen(bring func(paths []string) (usage, error)) (usage, error) {
	before, err := t.ten()
	if err != nil {
		return usage{}, err
	}
	paths := slices.Sorted(maps.Keys(before))
	for _, path := range paths {
		if err := os.WriteFile(filepath.Join(t.tree.root, path), []byte("spoilt\n"), 0o600); err != nil {
			return usage{}, err
		}
	}
	if _, err := disk.SyncFileSystem(t.b.dir); err != nil {
		return usage{}, err
	}
	u, err := bring(paths)
	if err != nil {
		return usage{}, err
	}
	return u, sameFiles(t.tree.root, before)
}

// tenAside has ten files written into a new folder.
func (t *trial) tenAside(p *pawlKeeper) (usage, error) {
	want, err := t.ten()
	if err != nil {
		return usage{}, err
	}
	folder, err := os.MkdirTemp(t.b.dir, "ten-")
	if err != nil {
		return usage{}, err
	}
	u, err := p.bringAside(slices.Sorted(maps.Keys(want)), folder)
	if err != nil {
		return usage{}, err
	}
	return u, errors.Join(sameFiles(folder, want), os.RemoveAll(folder))
}

// ten returns the ten files of the last round of edits, as all keepers have them.
func (t *trial) ten() (map[string]string, error) {
	paths, err := t.tree.edit(t.round)
	if err != nil {
		return nil, err
	}
	contents, err := t.tree.read(paths)
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for i, path := range paths {
		files[path] = contents[i]
	}
	return files, nil
}

func sameFiles(folder string, want map[string]string) error {
	for path, content := range want {
		data, err := os.ReadFile(filepath.Join(folder, path))
		if err != nil {
			return err
		}
		if string(data) != content {
			return fmt.Errorf("%s is not what it was", path)
		}
	}
	return nil
}
