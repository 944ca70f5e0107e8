package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pawl/internal/disk"
)

// The trees of rows 3 and 4.
func (b *bench) treeFiles() []int {
	if b.short {
		return []int{1000}
	}
	return []int{1000, 10_000, 100_000}
}

// newTrials begins the trials of all trees, the largest last.
func (b *bench) newTrials() ([]*trial, error) {
	var trials []*trial
	for _, files := range b.treeFiles() {
		t, err := b.newTrial(files)
		if err != nil {
			return nil, fmt.Errorf("%d files: %w", files, err)
		}
		trials = append(trials, t)
	}
	return trials, nil
}

func last[T any](all []T) T { return all[len(all)-1] }

// snapshots is row 3.
func (b *bench) snapshots() ([]line, error) {
	trials, err := b.trials()
	if err != nil {
		return nil, err
	}
	for _, t := range trials {
		if err := t.again(b.full(5, 2)); err != nil {
			return nil, err
		}
	}
	t := last(trials)
	lines := t.lines(keptChanged, "checkpoint of %d files, 10 changed", map[string]goal{plainGit: {ratio: 0.4}, bareWalk: {ratio: 1.2}})
	lines = append(lines, t.lines(keptSame, "checkpoint of %d files, nothing changed", nil)...)
	large, err := b.largeFile()
	if err != nil {
		return nil, err
	}
	many, err := b.manyCheckpoints()
	return append(append(lines, large...), many...), err
}

// firstSnapshots is row 4.
func (b *bench) firstSnapshots() ([]line, error) {
	trials, err := b.trials()
	if err != nil {
		return nil, err
	}
	for _, t := range trials {
		if err := t.all(); err != nil {
			return nil, err
		}
	}
	t := last(trials)
	lines := t.lines(keptFirst, "first checkpoint of %d files, "+inMegabytes(t.has.bytes), t.firstGoals())
	lines = append(lines, t.lines(broughtAll, "restore of all %d files", nil)...)
	return append(lines, t.sizes()...), nil
}

// firstGoals are the goals of the first snapshot.
func (t *trial) firstGoals() map[string]goal {
	goals := map[string]goal{onlyAdd: {ratio: 0.2}}
	for _, k := range t.keepers {
		if _, ok := k.(*borgKeeper); ok {
			goals[k.name()] = goal{ratio: 0.5}
		}
	}
	return goals
}

// costs is a table of what each deed takes each keeper, from the smallest tree to the largest.
func costs(trials []*trial) string {
	if len(trials) == 0 {
		return ""
	}
	t := last(trials)
	var columns []string
	for _, k := range t.keepers {
		columns = append(columns, k.name())
	}
	columns = append(columns, gitTold, gitSynced, inProcess, bareWalk)
	text := "\n| files | |"
	for _, name := range columns {
		text += " " + name + " |"
	}
	text += "\n|" + strings.Repeat("---|", len(columns)+2) + "\n"
	for _, t := range trials {
		text += strings.Join(t.costs(columns), "\n") + "\n"
	}
	for _, name := range []string{"restic", "borg"} {
		if _, err := exec.LookPath(name); err != nil {
			text += "\n" + name + " is not installed, and so left out.\n"
		}
	}
	return text
}

func inMegabytes(bytes int64) string {
	if bytes < 10_000_000 {
		return fmt.Sprintf("%.1f MB", float64(bytes)/1e6)
	}
	return fmt.Sprintf("%d MB", (bytes+500_000)/1_000_000)
}

// sizeLine compares two sizes in bytes. A limit of 0 demands nothing.
func sizeLine(work, yardstick string, bytes, other, limit int64) line {
	l := line{
		work: work, yardstick: yardstick, goal: "–", met: "–", ratio: fmt.Sprintf("%.2f ×", float64(bytes)/float64(other)),
		measured: fmt.Sprintf("%s against %s", inMegabytes(bytes), inMegabytes(other)),
	}
	if limit > 0 {
		l.goal, l.met = "≤ "+inMegabytes(limit), yesOrNo(bytes <= limit)
	}
	return l
}

// largeFile compares what it takes to keep a large file of which one MiB was changed in place.
func (b *bench) largeFile() ([]line, error) {
	const first = 7 // the MiB that changes first
	size := int64(b.full(2048, 64)) * mebibyte
	t := &trial{
		b: b, tree: &tree{root: filepath.Join(b.dir, "large"), files: 1}, took: map[deed]map[string][]usage{}, disk: map[string]int64{},
	}
	file := filepath.Join(t.tree.root, "data.db")
	if err := errors.Join(os.Mkdir(t.tree.root, 0o700), writeDatabase(file, size)); err != nil {
		return nil, err
	}
	var err error
	if t.keepers, err = b.keepersOf(t.tree); err != nil {
		return nil, err
	}
	t.keepers = slices.DeleteFunc(t.keepers, func(k keeper) bool { g, ok := k.(*gitKeeper); return ok && g.shadow })
	if err := t.first(); err != nil {
		return nil, err
	}
	if err := changeDatabase(file, first*mebibyte, 1); err != nil {
		return nil, err
	}
	for _, k := range t.keepers {
		if err := t.turn(keptChanged, subject{k.name(), k.take}); err != nil {
			return nil, err
		}
	}
	return t.largeLines(size)
}

// largeLines says also how much the stores grew.
func (t *trial) largeLines(size int64) ([]line, error) {
	grown := map[string]int64{}
	for _, k := range t.keepers {
		store, err := measure(k.store())
		if err != nil {
			return nil, err
		}
		grown[k.name()] = store.disk - t.disk[k.name()]
	}
	of := fmt.Sprintf("a file of %d MiB", size/mebibyte)
	lines := t.lines(keptFirst, "first checkpoint of %d file: "+of, nil)
	lines = append(lines, t.lines(keptChanged, "checkpoint of %d file: "+of+", 1 MiB of it changed in place", nil)...)
	for _, k := range t.keepers[1:] {
		lines = append(lines, sizeLine("bytes on disk for that", k.name(), grown[ours], grown[k.name()], 0))
	}
	return lines, nil
}

// manyCheckpoints takes checkpoint after checkpoint of a project that grows by a file each time, and changes in another.
// All files are of one size, so that what is new is always as much.
func (b *bench) manyCheckpoints() ([]line, error) {
	const size = 8000
	n, part := b.full(1000, 40), b.full(100, 10)
	t := &tree{root: filepath.Join(b.dir, "growing"), files: b.full(5000, 500), even: size}
	if err := t.grow(); err != nil {
		return nil, err
	}
	keepers, err := b.keepersOf(t)
	if err != nil {
		return nil, err
	}
	g := growth{tree: t, keeper: keepers[0], base: t.files}
	for range n + 1 { // the first is of what is there at first
		if err := g.step(); err != nil {
			return nil, err
		}
	}
	return g.lines(n, part), nil
}

// growth is a project that grows, and what it takes to keep it.
type growth struct {
	tree   *tree
	keeper keeper
	base   int             // files at first
	times  []time.Duration // of each checkpoint
	disk   []int64         // that the store takes after each
}

// step adds a file, changes another, and has all kept.
func (g *growth) step() error {
	i := g.tree.files
	g.tree.files++
	if err := os.MkdirAll(filepath.Dir(filepath.Join(g.tree.root, g.tree.path(i))), 0o700); err != nil {
		return err
	}
	if err := errors.Join(g.tree.write(i, 0), g.tree.write(i*7919%g.base, i)); err != nil {
		return err
	}
	if _, err := disk.SyncFileSystem(g.tree.root); err != nil {
		return err
	}
	u, err := g.keeper.take()
	if err != nil {
		return err
	}
	store, err := measure(g.keeper.store())
	g.times, g.disk = append(g.times, u.time), append(g.disk, store.disk)
	return err
}

// lines compares the last part with the first.
func (g *growth) lines(n, part int) []line {
	first := fmt.Sprintf("the first %d", part)
	flat := measured{work: median(slices.Clone(g.times[n+1-part:])), yardstick: median(slices.Clone(g.times[1 : part+1])), per: 1}
	flat.ratio = float64(flat.work) / float64(flat.yardstick)
	early, late := (g.disk[part]-g.disk[0])/int64(part), (g.disk[n]-g.disk[n-part])/int64(part)
	all := (g.disk[n] - g.disk[0]) / int64(n)
	linear := line{
		work:     fmt.Sprintf("the same: bytes on disk for each (%d new in the project)", 2*g.tree.even),
		measured: fmt.Sprintf("%d against %d; %d of all", late, early, all), yardstick: first,
		ratio: fmt.Sprintf("%.2f ×", float64(late)/float64(early)), goal: "≤ 1.2 ×", met: yesOrNo(float64(late) <= 1.2*float64(early)),
	}
	work := fmt.Sprintf("%d checkpoints of a project that grows from %d files by one each time, and one changes: the last %d", n, g.base, part)
	return []line{flat.line(work, first, goal{ratio: 1.2}), linear}
}
