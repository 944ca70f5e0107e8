package snapshot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"pawl"
	"pawl/internal/snapshot/ignore"
	"pawl/internal/snapshot/pack"
)

// Restoration is a restore that was thought through and not begun: what it will do, and the workspace as it is, which
// Save keeps before Apply changes it. Close ends it in any case.
type Restoration struct {
	Changes []Change // from what is there to what will be
	Kept    []string // not in the snapshot, but ignored, or left out then too: these stay

	store    *Store
	target   Record
	look     *look
	leftover []string  // of a restore that was cut off
	saved    time.Time // when the look at the workspace ended
}

// Prepare thinks a restore through: of all, or only of the paths given and what is below them. What is at a path of the
// snapshot and ignored today is kept by Save as well. An error of KindDamaged names what stands in the way and cannot
// be kept.
func (s *Store) Prepare(ctx context.Context, target Record, paths []string) (*Restoration, error) {
	r := &Restoration{store: s, target: target}
	hidden, err := r.compare(ctx, nil, paths)
	if err == nil && len(hidden) > 0 {
		if err = r.Close(); err == nil {
			hidden, err = r.compare(ctx, hidden, paths)
		}
	}
	if err == nil && len(hidden) > 0 {
		err = inTheWay(hidden)
	}
	if err == nil {
		err = r.keep(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func inTheWay(paths []string) error {
	return &pawl.Error{
		Kind: pawl.KindDamaged,
		Err:  fmt.Errorf("in the way, and not in any snapshot: %s", strings.Join(paths, ", ")),
		Hint: "move it away",
	}
}

// compare finds the changes, and the paths at which is something that the look does not have.
func (r *Restoration) compare(ctx context.Context, include, paths []string) (hidden []string, err error) {
	if r.look, err = r.store.look(ctx, include); err != nil {
		return nil, err
	}
	all, err := diff(r.look.tree, r.look.root.ID, r.target.Tree)
	if err != nil {
		return nil, err
	}
	r.Changes = slices.DeleteFunc(all, func(c Change) bool { return !covered(c.Path, paths) && !leadsTo(c, paths) })
	for _, c := range r.Changes {
		if c.Old != nil {
			continue
		}
		info, err := os.Lstat(filepath.Join(r.store.cfg.Root, c.Path))
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ENOTDIR):
		case err != nil:
			return nil, err
		case !info.IsDir() || c.New.Kind != Folder:
			hidden = append(hidden, c.Path)
		}
	}
	return hidden, nil
}

// covered reports whether a path is one of paths, or below one. No paths are all.
func covered(p string, paths []string) bool {
	return len(paths) == 0 || slices.ContainsFunc(paths, func(asked string) bool {
		return asked == "." || p == asked || strings.HasPrefix(p, asked+"/")
	})
}

// leadsTo reports whether a change makes a folder above one of paths.
func leadsTo(c Change, paths []string) bool {
	return c.New != nil && c.New.Kind == Folder && (c.Old == nil || c.Old.Kind != Folder) &&
		slices.ContainsFunc(paths, func(asked string) bool { return strings.HasPrefix(asked, c.Path+"/") })
}

// tree reads a folder's entries, as the look found it or as the store has it.
func (l *look) tree(id pack.ID) ([]Entry, error) {
	if entries, fresh := l.trees[id]; fresh {
		return entries, nil
	}
	return l.store.tree(id)
}

// keep takes out of the changes whatever would remove something that the snapshot does not cover: what is ignored by
// the rules that it has itself, and what it lists as left out.
func (r *Restoration) keep(ctx context.Context) error {
	leftOut, err := r.store.LeftOutOf(r.target)
	if err != nil {
		return err
	}
	rules, err := r.store.rulesOf(ctx, r.target)
	if err != nil {
		return err
	}
	kept := map[string]bool{} // and the folders that they are in
	for _, c := range slices.Backward(r.Changes) {
		if c.New != nil || c.Old.Kind == Folder {
			continue
		}
		ignored, err := rules.ignore(c.Path, false)
		if err != nil {
			return err
		}
		if ignored || isLeftOut(leftOut, c.Path) {
			r.Kept = append(r.Kept, c.Path)
			for p := c.Path; p != "."; p = path.Dir(p) {
				kept[p] = true
			}
		}
	}
	slices.Sort(r.Kept)
	for _, l := range r.look.leftOut { // folders that hold what is ignored stay too
		for p := path.Dir(l.Path); p != "."; p = path.Dir(p) {
			kept[p] = true
		}
	}
	var blocked []string
	r.Changes = slices.DeleteFunc(r.Changes, func(c Change) bool {
		if kept[c.Path] && c.New != nil && c.New.Kind != Folder {
			blocked = append(blocked, c.Path)
		}
		return kept[c.Path] && c.New == nil
	})
	if len(blocked) > 0 {
		return inTheWay(blocked)
	}
	return nil
}

// isLeftOut reports whether a path or a folder above it is in the list.
func isLeftOut(list []LeftOut, p string) bool {
	for ; p != "."; p = path.Dir(p) {
		if slices.ContainsFunc(list, func(l LeftOut) bool { return l.Path == p }) {
			return true
		}
	}
	return false
}

// Head returns where git stood when the snapshot was taken, and where it stands now; nil without git.
func (r *Restoration) Head(ctx context.Context) (then, now *Head, err error) {
	now, err = HeadOf(ctx, r.store.cfg.Root)
	return r.target.Head, now, err
}

// Save keeps the workspace as it is, as a snapshot of its own.
func (r *Restoration) Save(ctx context.Context, stamp Stamp) (Record, error) {
	look := r.look
	r.look, r.saved, r.leftover = nil, look.ended, look.leftover
	record, err := look.commit(ctx, stamp)
	if err != nil {
		return Record{}, fmt.Errorf("keep what is there: %w", err)
	}
	return record, nil
}

// Close lets go of what Save did not keep.
func (r *Restoration) Close() error {
	if r.look == nil {
		return nil
	}
	err := r.look.batch.Abort()
	r.look = nil
	return err
}

// pastRules are the ignore rules as they were in a snapshot.
type pastRules struct {
	store *Store
	root  Record
	known map[string]*ignore.Rules // by folder
}

// rulesOf gives the rules that the snapshot's own files make, together with those outside the workspace as they are now.
func (s *Store) rulesOf(ctx context.Context, r Record) (*pastRules, error) {
	past := &pastRules{store: s, root: r, known: map[string]*ignore.Rules{}}
	var err error
	past.known["."], err = ignore.Load(ctx, s.cfg.Root, ignore.Options{
		Patterns: s.cfg.Patterns, Own: func(name string) ([]byte, error) { return past.file(name) },
	})
	return past, err
}

// file reads a file of patterns; nil where there is none.
func (p *pastRules) file(path string) ([]byte, error) {
	e, err := p.store.At(p.root, path)
	if err != nil || e == nil || e.Kind != File {
		return nil, err
	}
	data, err := p.store.packs.Get(e.ID)
	if data == nil && err == nil {
		data = []byte{}
	}
	return data, err
}

func (p *pastRules) ignore(file string, isDir bool) (bool, error) {
	rules, err := p.in(path.Dir(file))
	if err != nil {
		return false, err
	}
	return rules.Ignored(path.Base(file), isDir), nil
}

func (p *pastRules) in(folder string) (*ignore.Rules, error) {
	if rules, ok := p.known[folder]; ok {
		return rules, nil
	}
	above, err := p.in(path.Dir(folder))
	if err != nil {
		return nil, err
	}
	var own [2][]byte
	for i, name := range []string{ignore.GitFile, ignore.PawlFile} {
		if own[i], err = p.file(folder + "/" + name); err != nil {
			return nil, err
		}
	}
	rules := above.In(path.Base(folder), own[0], own[1])
	p.known[folder] = rules
	return rules, nil
}

// Content writes a file of a snapshot, checked, to out.
func (s *Store) Content(e Entry, out interface{ Write([]byte) (int, error) }) error {
	ids := []pack.ID{e.ID}
	if e.Kind == Blocks {
		var err error
		if ids, err = s.blocks(e.ID); err != nil {
			return err
		}
	}
	for _, id := range ids {
		data, err := s.packs.Get(id)
		if err != nil {
			return err
		}
		if _, err := out.Write(data); err != nil {
			return err
		}
	}
	return nil
}

// isZero reports whether a block holds nothing but zeros, and may be a hole in the file.
func isZero(data []byte) bool {
	return len(data) > 0 && data[0] == 0 && bytes.Equal(data[1:], data[:len(data)-1])
}
