package snapshot

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"pawl"
	"pawl/internal/project"
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
	look     *look     // nil once it is saved
	leftover []string  // of a restore that was cut off
	since    time.Time // when the look at the workspace began
}

// Prepare thinks a restore through: of all, or only of the paths given and what is below them. What is at a path of the
// snapshot and ignored today is kept by Save as well. An error of KindDamaged names what stands in the way and cannot
// be kept, or what of the snapshot cannot be read.
func (s *Store) Prepare(ctx context.Context, target Record, paths []string) (*Restoration, error) {
	r := &Restoration{store: s, target: target}
	paths = clean(paths)
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
	if err == nil {
		err = s.readable(ctx, r.Changes)
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
	return r.hidden()
}

// hidden finds the paths at which something is to come although something is there that the look does not have.
func (r *Restoration) hidden() (paths []string, err error) {
	root, err := openFolder(r.store.cfg.Root)
	if err != nil {
		return nil, err
	}
	defer unix.Close(root)
	free := "" // nothing is below this path
	for _, c := range r.Changes {
		if c.Old != nil || free != "" && strings.HasPrefix(c.Path, free+"/") {
			continue
		}
		kind, err := kindBelow(root, c.Path)
		switch {
		case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP):
			free = c.Path
		case errors.Is(err, unix.EACCES):
			paths = append(paths, c.Path)
		case err != nil:
			return nil, fmt.Errorf("look at %s: %w", c.Path, err)
		case kind != unix.S_IFDIR || c.New.Kind != Folder:
			paths = append(paths, c.Path)
		}
	}
	return paths, nil
}

// kindBelow says what is at a path below the folder root, one of unix.S_IFMT. It follows no link.
func kindBelow(root int, p string) (uint32, error) {
	fd, err := openBelow(root, path.Dir(p), unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstatat(fd, path.Base(p), &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return 0, err
	}
	return uint32(st.Mode) & unix.S_IFMT, nil
}

// clean writes paths as trees have them.
func clean(paths []string) []string {
	var out []string
	for _, p := range paths {
		out = append(out, filepath.ToSlash(filepath.Clean(p)))
	}
	return out
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
// the rules that it has itself, what it lists as left out, and the folders that hold such things, something that the
// look left out, or a .git.
func (r *Restoration) keep(ctx context.Context) error {
	if !slices.ContainsFunc(r.Changes, Change.ends) {
		return nil
	}
	stays, err := r.uncovered(ctx)
	if err != nil {
		return err
	}
	for _, l := range r.look.leftOut {
		stays.folder(path.Dir(l.Path))
	}
	root, err := openFolder(r.store.cfg.Root)
	if err != nil {
		return err
	}
	defer unix.Close(root)
	for _, c := range r.Changes {
		if !c.ends() || c.Old.Kind != Folder {
			continue
		}
		for _, name := range []string{".git", project.Folder} {
			if _, err := kindBelow(root, c.Path+"/"+name); err == nil {
				stays.folder(c.Path)
			}
		}
	}
	var blocked []string
	r.Changes = slices.DeleteFunc(r.Changes, func(c Change) bool {
		if stays[c.Path] && c.New != nil && c.New.Kind != Folder {
			blocked = append(blocked, c.Path)
		}
		return stays[c.Path] && c.New == nil
	})
	if len(blocked) > 0 {
		return inTheWay(blocked)
	}
	return nil
}

// ends reports whether something is to go, or a folder to become something else.
func (c Change) ends() bool {
	return c.New == nil || c.Old != nil && c.Old.Kind == Folder && c.New.Kind != Folder
}

// staying are paths that stay, with all folders above them.
type staying map[string]bool

func (s staying) folder(p string) {
	for ; p != "." && !s[p]; p = path.Dir(p) {
		s[p] = true
	}
}

// uncovered finds what is there and was not the snapshot's to have. Kept names it, of a folder only the folder.
func (r *Restoration) uncovered(ctx context.Context) (staying, error) {
	leftOut, err := r.store.LeftOutOf(r.target)
	if err != nil {
		return nil, err
	}
	rules, err := r.store.rulesOf(ctx, r.target)
	if err != nil {
		return nil, err
	}
	stays, top := staying{}, ""
	for _, c := range r.Changes {
		if c.New != nil {
			continue
		}
		if top == "" || !strings.HasPrefix(c.Path, top+"/") {
			ignored, err := rules.ignore(c.Path, c.Old.Kind == Folder)
			if err != nil {
				return nil, err
			}
			if !ignored && !isLeftOut(leftOut, c.Path) {
				continue
			}
			top = c.Path
			r.Kept = append(r.Kept, c.Path)
		}
		stays.folder(c.Path)
	}
	return stays, nil
}

// isLeftOut reports whether a path or a folder above it is in the list.
func isLeftOut(list []LeftOut, p string) bool {
	for ; p != "."; p = path.Dir(p) {
		_, found := slices.BinarySearchFunc(list, p, func(l LeftOut, p string) int { return strings.Compare(l.Path, p) })
		if found {
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
	r.look, r.since, r.leftover = nil, look.started, look.leftover
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
		Patterns: s.cfg.Patterns, Defaults: s.cfg.Defaults, Own: func(name string) ([]byte, error) { return past.file(name) },
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
	return s.eachBlock(e, func(_ pack.ID, data []byte) error {
		_, err := out.Write(data)
		return err
	})
}

// eachBlock calls do with a file's content, whole or block by block.
func (s *Store) eachBlock(e Entry, do func(id pack.ID, data []byte) error) error {
	ids := []pack.ID{e.ID}
	if e.Kind == Blocks {
		var err error
		if ids, err = s.blocks(e.ID); err != nil {
			return err
		}
	}
	var data []byte
	for i, id := range ids {
		if i == 0 || id != ids[i-1] { // else as a rule one hole goes on
			var err error
			if data, err = s.packs.Get(id); err != nil {
				return err
			}
		}
		if err := do(id, data); err != nil {
			return err
		}
	}
	return nil
}
