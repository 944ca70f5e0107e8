package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/project"
	"pawl/internal/snapshot"
)

// deed is what a subject of a trial is asked to do.
type deed string

const (
	keptFirst   deed = "first snapshot"
	keptChanged deed = "10 files changed"
	keptSame    deed = "nothing changed"
	keptWatched deed = "10 files changed, watched"
	broughtTen  deed = "restore of 10 files"
	besideTen   deed = "restore of 10 files, elsewhere"
	broughtAll  deed = "restore of all, elsewhere"
)

// The subjects of a trial that are not keepers.
const (
	inProcess = "pawl within a process"
	bareWalk  = "bare walk"
	onlyAdd   = "`git add -A`" // the first half of git's
	gitTold   = "shadow git told the paths: `add`, `write-tree`, `commit-tree`"
	gitSynced = "`git restore` of them, then `sync -f`"
)

// subject does a deed once, and says what it took.
type subject struct {
	name string
	do   func() (usage, error)
}

// trial is a tree, those that keep it, and what each deed took them.
type trial struct {
	b       *bench
	tree    *tree
	has     extent
	keepers []keeper
	took    map[deed]map[string][]usage
	disk    map[string]int64 // that the stores take after the first snapshot
	round   int              // of edits
}

// newTrial makes the tree, and has all keep it for the first time.
func (b *bench) newTrial(files int) (*trial, error) {
	t := &trial{
		b: b, tree: &tree{root: filepath.Join(b.dir, fmt.Sprintf("tree-%d", files)), files: files},
		took: map[deed]map[string][]usage{}, disk: map[string]int64{},
	}
	err := t.tree.grow()
	if err == nil {
		t.has, err = measure(t.tree.root)
	}
	if err == nil {
		t.keepers, err = b.keepersOf(t.tree)
	}
	if err == nil {
		err = t.first()
	}
	return t, err
}

func (t *trial) first() error {
	for _, k := range t.keepers {
		if err := t.turn(keptFirst, subject{k.name(), k.take}); err != nil {
			return err
		}
		if g, ok := k.(*gitKeeper); ok && !g.shadow {
			t.note(keptFirst, onlyAdd, g.added)
		}
		store, err := measure(k.store())
		if err != nil {
			return err
		}
		t.disk[k.name()] = store.disk
	}
	return nil
}

// turn has a subject do a deed. What others have written before is on disk by then.
func (t *trial) turn(d deed, s subject) error {
	if _, err := disk.SyncFileSystem(t.b.dir); err != nil {
		return err
	}
	u, err := s.do()
	if err != nil {
		return fmt.Errorf("%s: %s: %w", s.name, d, err)
	}
	t.note(d, s.name, u)
	return nil
}

func (t *trial) note(d deed, name string, u usage) {
	if t.took[d] == nil {
		t.took[d] = map[string][]usage{}
	}
	t.took[d][name] = append(t.took[d][name], u)
}

// inTurns has the subjects do a deed, round by round, all once more than rounds: the first counts not.
func (t *trial) inTurns(d deed, rounds int, subjects []subject, before func() error) error {
	for i := range rounds + 1 {
		if i == 1 {
			t.took[d] = nil
		}
		if err := before(); err != nil {
			return err
		}
		for _, s := range subjects {
			if err := t.turn(d, s); err != nil {
				return err
			}
		}
	}
	return nil
}

// again measures what a snapshot takes when ten files have changed, and when none have.
func (t *trial) again(rounds int) error {
	subjects, end, err := t.takers()
	if err != nil {
		return err
	}
	err = t.inTurns(keptChanged, rounds, subjects, func() error {
		t.round++
		_, err := t.tree.edit(t.round)
		return err
	})
	if err == nil {
		err = t.inTurns(keptSame, rounds, subjects, func() error { return nil })
	}
	return errors.Join(err, end())
}

// takers are all who look for changes.
func (t *trial) takers() (subjects []subject, end func() error, err error) {
	for _, k := range t.keepers {
		subjects = append(subjects, subject{k.name(), k.take})
	}
	p, err := project.Find(t.tree.root)
	if err != nil {
		return nil, nil, err
	}
	// With a store of its own: the program, which comes before it, has stored what changed in the other one.
	store, err := snapshot.Open(t.b, snapshot.Config{Root: p.Root, Dir: filepath.Join(p.Root, project.Folder, "bench")})
	if err == nil {
		err = takeIn(t.b, store)
	}
	if err != nil {
		return nil, nil, err
	}
	subjects = append(subjects, subject{inProcess, clocked(func() error { return takeIn(t.b, store) })})
	if _, err := walkBare(t.tree.root); !errors.Is(err, errors.ErrUnsupported) {
		subjects = append(subjects, subject{bareWalk, clocked(t.walk)})
	}
	return subjects, store.Close, nil
}

func takeIn(ctx context.Context, store *snapshot.Store) error {
	_, err := store.Take(ctx, snapshot.Stamp{Kind: pawl.CheckpointManual, Why: "bench"})
	return err
}

// walk looks at the whole tree.
func (t *trial) walk() error {
	names, err := walkBare(t.tree.root)
	if want := t.has.files + t.has.folders - 1; err == nil && names != want {
		err = fmt.Errorf("%d names, not %d", names, want)
	}
	return err
}

// clocked times what runs within this process.
func clocked(do func() error) func() (usage, error) {
	return func() (usage, error) {
		took, err := timed(do)()
		return usage{time: took}, err
	}
}

// all measures what it takes to write the tree into an empty folder. Git does that the same way behind people's backs.
func (t *trial) all() error {
	want, err := measure(t.tree.root)
	if err != nil {
		return err
	}
	for i, k := range t.keepers {
		if g, ok := k.(*gitKeeper); ok && g.shadow {
			continue
		}
		to := fmt.Sprintf("%s-back-%d", t.tree.root, i)
		if err := os.Mkdir(to, 0o700); err != nil {
			return err
		}
		if err := t.turn(broughtAll, subject{k.name(), func() (usage, error) { return k.bringAll(to) }}); err != nil {
			return err
		}
		if err := sameAs(to, want); err != nil {
			return fmt.Errorf("%s: %w", k.name(), err)
		}
	}
	return nil
}

// median is the time that a deed took a subject; none where it did not do it.
func (t *trial) median(d deed, name string) (time.Duration, bool) {
	var times []time.Duration
	for _, u := range t.took[d][name] {
		times = append(times, u.time)
	}
	if len(times) == 0 {
		return 0, false
	}
	return median(times), true
}

// peak is the most memory that a deed took a subject.
func (t *trial) peak(d deed, name string) (peak int64) {
	for _, u := range t.took[d][name] {
		peak = max(peak, u.peak)
	}
	return peak
}

// against compares two subjects, round by round.
func (t *trial) against(d deed, work, yardstick string) (m measured, ok bool) {
	var ratios []float64
	works, yardsticks := t.took[d][work], t.took[d][yardstick]
	for i := range min(len(works), len(yardsticks)) {
		ratios = append(ratios, float64(works[i].time)/float64(yardsticks[i].time))
	}
	if len(ratios) == 0 {
		return measured{}, false
	}
	m = measured{per: 1, ratio: median(ratios)}
	m.work, _ = t.median(d, work)
	m.yardstick, _ = t.median(d, yardstick)
	return m, true
}

// lines compares pawl with all others at a deed, and from within a process with the bare walk. The goals are those
// against the others, by their names.
func (t *trial) lines(d deed, work string, goals map[string]goal) []line {
	var lines []line
	add := func(work, subject, yardstick string) {
		if m, ok := t.against(d, subject, yardstick); ok {
			lines = append(lines, m.line(work, t.how(d, yardstick), goals[yardstick]))
		}
	}
	work = fmt.Sprintf(work, t.tree.files)
	if t.b.short { // the goals are those of the large tree
		goals = nil
	}
	for _, name := range t.names(d)[1:] {
		if name == inProcess {
			continue
		}
		add(work, ours, name)
		work = "the same"
	}
	if _, ok := t.median(d, bareWalk); ok {
		add("the same, within a process", inProcess, bareWalk)
	}
	return lines
}

// how says what a subject does, for a deed.
func (t *trial) how(d deed, name string) string {
	for _, k := range t.keepers {
		if k.name() == name {
			return k.how(d)
		}
	}
	if name == bareWalk {
		return "one parallel walk with raw openat, getdents, fstatat"
	}
	return name
}

// names are the subjects that did a deed, pawl first.
func (t *trial) names(d deed) []string {
	var names []string
	for _, k := range t.keepers {
		names = append(names, k.name())
		if k.name() == plainGit {
			names = append(names, onlyAdd)
		}
	}
	names = append(names, gitTold, gitSynced, inProcess, bareWalk)
	return slices.DeleteFunc(names, func(name string) bool { return len(t.took[d][name]) == 0 })
}

// sizes compares what the stores take after the first snapshot, and how much memory each needed for it.
func (t *trial) sizes() []line {
	const atMost = 150_000_000
	var lines []line
	for _, k := range t.keepers[1:] {
		lines = append(lines, sizeLine("bytes on disk after the first checkpoint", k.name(), t.disk[ours], t.disk[k.name()], 0))
	}
	for _, k := range t.keepers[1:] {
		peak, other := t.peak(keptFirst, ours), t.peak(keptFirst, k.name())
		lines = append(lines, sizeLine("peak memory of the first checkpoint", k.name(), peak, other, atMost))
	}
	return lines
}

// costs is one table line for each deed: what it took each keeper.
func (t *trial) costs(columns []string) []string {
	var rows []string
	row := func(what string, cell func(name string) string) {
		text := fmt.Sprintf("| %d | %s |", t.tree.files, what)
		for _, name := range columns {
			text += " " + cell(name) + " |"
		}
		rows = append(rows, text)
	}
	for _, d := range []deed{keptFirst, keptChanged, keptSame, keptWatched, broughtTen, besideTen, broughtAll} {
		if len(t.took[d]) == 0 {
			continue
		}
		row(string(d), func(name string) string {
			if took, ok := t.median(d, name); ok {
				return measured{}.show(took)
			}
			return "–"
		})
	}
	row("bytes on disk", func(name string) string { return cellOf(t.disk[name]) })
	row("peak memory, first snapshot", func(name string) string { return cellOf(t.peak(keptFirst, name)) })
	row("peak memory, restore of all", func(name string) string { return cellOf(t.peak(broughtAll, name)) })
	return rows
}

func cellOf(bytes int64) string {
	if bytes == 0 {
		return "–"
	}
	return inMegabytes(bytes)
}
