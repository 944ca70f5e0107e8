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
	"pawl/internal/disk"
	"pawl/internal/oneline"
	"pawl/internal/project"
	"pawl/internal/snapshot/ignore"
	"pawl/internal/snapshot/pack"
)

// Restoration is a prepared restore: the changes it will make, and a scan of the current workspace, which Save stores
// before Apply changes anything. The caller closes it in any case.
type Restoration struct {
	Changes []Change // from the current state to the snapshot's
	Kept    []string // paths that stay: not in the snapshot, and ignored or left out when it was taken

	store    *Store
	target   Record
	paths    []string
	scan     *scan     // nil after Save
	nested   []string  // the .git of each nested repository below paths
	leftover []string  // temporary files of an interrupted restore
	since    time.Time // start of the scan
}

// Prepare computes a restore of the whole snapshot, or of the given paths and everything below them. Then it reads nothing else. Paths that are in
// the snapshot and ignored now are included in what Save stores. It fails with KindDamaged if something blocks the
// restore that Save cannot store, or if the snapshot is unreadable.
func (s *Store) Prepare(ctx context.Context, target Record, paths []string) (*Restoration, error) {
	r := &Restoration{store: s, target: target, paths: clean(paths)}
	if err := target.requires(r.paths); err != nil {
		return nil, err
	}
	hidden, err := r.compare(ctx, nil)
	if err == nil && len(hidden) > 0 {
		if err = r.Close(); err == nil {
			hidden, err = r.compare(ctx, hidden)
		}
	}
	if err == nil && len(hidden) > 0 {
		err = blockedError(hidden)
	}
	if err == nil {
		err = r.preserve(ctx)
	}
	if err == nil {
		err = s.readable(ctx, r.Changes)
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func blockedError(paths []string) error {
	return &pawl.Error{
		Kind: pawl.KindDamaged,
		Err:  fmt.Errorf("the restore would overwrite what no snapshot holds: %s", oneline.Paths(paths)),
		Hint: "move it away",
	}
}

// compare computes the changes, and returns the paths where something exists that the scan did not read.
func (r *Restoration) compare(ctx context.Context, include []string) (hidden []string, err error) {
	if r.scan, err = r.store.scan(ctx, include, extentOf(r.paths, r.target)); err != nil {
		return nil, err
	}
	all, err := diff(r.scan.tree, r.scan.root.ID, r.target.Tree, r.paths)
	if err != nil {
		return nil, err
	}
	r.Changes = within(all, r.paths)
	return r.hidden()
}

// hidden returns the paths that the restore would create although something exists there that the scan did not read.
func (r *Restoration) hidden() (paths []string, err error) {
	root, err := openFolder(r.store.cfg.Root)
	if err != nil {
		return nil, err
	}
	defer unix.Close(root)
	free := "" // nothing exists below this path
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
			return nil, fmt.Errorf("stat %s: %w", oneline.Path(c.Path), err)
		case kind != unix.S_IFDIR || c.New.Kind != Folder:
			paths = append(paths, c.Path)
		}
	}
	return paths, nil
}

// kindBelow returns the file type (unix.S_IFMT) of a path below the folder root, without following links.
func kindBelow(root int, p string) (uint32, error) {
	fd, err := disk.OpenBelow(root, path.Dir(p), unix.O_RDONLY|unix.O_DIRECTORY)
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

// clean converts paths to the form used in trees.
func clean(paths []string) []string {
	var out []string
	for _, p := range paths {
		out = append(out, filepath.ToSlash(filepath.Clean(p)))
	}
	return out
}

// covered reports whether p is one of paths or below one. No paths cover everything.
func covered(p string, paths []string) bool {
	return len(paths) == 0 || slices.ContainsFunc(paths, func(asked string) bool {
		return asked == "." || p == asked || strings.HasPrefix(p, asked+"/")
	})
}

// within returns the changes of paths and of everything below them, and those that create the folders in which they lie.
func within(all []Change, paths []string) []Change {
	var kept []Change
	for _, c := range slices.Backward(all) {
		creates := c.New != nil && c.New.Kind == Folder && (c.Old == nil || c.Old.Kind != Folder)
		if covered(c.Path, paths) || creates && len(kept) > 0 && strings.HasPrefix(kept[len(kept)-1].Path, c.Path+"/") {
			kept = append(kept, c)
		}
	}
	slices.Reverse(kept)
	return kept
}

// isParent reports whether p is a parent folder of one of paths.
func isParent(p string, paths []string) bool {
	return slices.ContainsFunc(paths, func(asked string) bool { return strings.HasPrefix(asked, p+"/") })
}

// tree returns a folder's entries, from the scan or from the store.
func (l *scan) tree(id pack.ID) ([]Entry, error) {
	if entries, fresh := l.trees[id]; fresh {
		return entries, nil
	}
	return l.store.tree(id)
}

// preserve drops the changes that would remove something outside the snapshot's scope: paths that its own rules ignore,
// paths that it lists as left out, and folders that contain such paths, a path that the scan left out, a .git or a
// .pawl.
func (r *Restoration) preserve(ctx context.Context) error {
	if !slices.ContainsFunc(r.Changes, Change.removes) {
		return nil
	}
	stays, err := r.uncovered(ctx)
	if err != nil {
		return err
	}
	for _, l := range r.scan.leftOut {
		stays.addWithParents(path.Dir(l.Path))
		if l.Nested() && covered(l.Path, r.paths) {
			r.nested = append(r.nested, l.Path)
		}
	}
	root, err := openFolder(r.store.cfg.Root)
	if err != nil {
		return err
	}
	defer unix.Close(root)
	for _, c := range r.Changes {
		if !c.removes() || c.Old.Kind != Folder {
			continue
		}
		for _, name := range []string{".git", project.Folder} {
			if _, err := kindBelow(root, c.Path+"/"+name); err == nil {
				stays.addWithParents(c.Path)
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
		return blockedError(blocked)
	}
	return nil
}

// removes reports whether the change removes a path, or turns a folder into something else.
func (c Change) removes() bool {
	return c.New == nil || c.Old != nil && c.Old.Kind == Folder && c.New.Kind != Folder
}

// preserved is a set of paths that stay, with all their parents.
type preserved map[string]bool

func (s preserved) addWithParents(p string) {
	for ; p != "." && !s[p]; p = path.Dir(p) {
		s[p] = true
	}
}

// uncovered finds the existing paths that were outside the snapshot's scope. Kept gets the topmost of them.
func (r *Restoration) uncovered(ctx context.Context) (preserved, error) {
	leftOut, err := r.store.LeftOutOf(r.target)
	if err != nil {
		return nil, err
	}
	rules, err := r.store.rulesOf(ctx, r.target)
	if err != nil {
		return nil, err
	}
	stays, top := preserved{}, ""
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
		stays.addWithParents(c.Path)
	}
	return stays, nil
}

// isLeftOut reports whether a path or one of its parents is in the list.
func isLeftOut(list []LeftOut, p string) bool {
	for ; p != "."; p = path.Dir(p) {
		_, found := slices.BinarySearchFunc(list, p, func(l LeftOut, p string) int { return strings.Compare(l.Path, p) })
		if found {
			return true
		}
	}
	return false
}

// Head returns git's HEAD when the snapshot was taken, and now; nil without git.
func (r *Restoration) Head(ctx context.Context) (then, now *Head, err error) {
	now, err = HeadOf(ctx, r.store.cfg.Root)
	return r.target.Head, now, err
}

// Save stores the current workspace as a snapshot of its own. If paths are restored, the snapshot has only these paths.
func (r *Restoration) Save(ctx context.Context, stamp Stamp) (Record, error) {
	scan := r.scan
	r.scan, r.since, r.leftover = nil, scan.started, scan.leftover
	record, err := scan.commit(ctx, stamp)
	if err != nil {
		return Record{}, fmt.Errorf("save the current state: %w", err)
	}
	return record, nil
}

// SavedIn reports whether another snapshot has every file that Apply overwrites or removes. Then Apply needs no Save. A
// restore that was cut off in the middle is finished so: without a snapshot of the half-restored files.
func (r *Restoration) SavedIn(other Record) (bool, error) {
	unsaved, err := r.UnsavedIn(other)
	if err != nil || len(unsaved) > 0 {
		return false, err
	}
	r.since, r.leftover = r.scan.started, r.scan.leftover
	return true, r.Close()
}

// UnsavedIn returns the files that Apply overwrites or removes and another snapshot does not have. Call it before Save.
func (r *Restoration) UnsavedIn(other Record) (paths []string, err error) {
	if err := other.requires(r.paths); err != nil {
		return nil, err
	}
	missing, err := diff(r.scan.tree, other.Tree, r.scan.root.ID, r.paths)
	if err != nil {
		return nil, err
	}
	unsaved := map[string]bool{}
	for _, c := range missing {
		unsaved[c.Path] = c.New != nil && c.New.Kind != Folder
	}
	for _, c := range r.Changes {
		if unsaved[c.Path] {
			paths = append(paths, c.Path)
		}
	}
	return paths, nil
}

// Close discards the scan unless Save stored it.
func (r *Restoration) Close() error {
	if r.scan == nil {
		return nil
	}
	err := r.scan.batch.Abort()
	r.scan = nil
	return err
}

// pastRules are the ignore rules in force when a snapshot was taken.
type pastRules struct {
	store *Store
	root  Record
	known map[string]*ignore.Rules // by folder
}

// rulesOf builds the rules from the pattern files in the snapshot, and from the current ones outside the workspace.
func (s *Store) rulesOf(ctx context.Context, r Record) (*pastRules, error) {
	past := &pastRules{store: s, root: r, known: map[string]*ignore.Rules{}}
	defaults, err := s.defaults()
	if err != nil {
		return nil, err
	}
	past.known["."], err = ignore.Load(ctx, s.cfg.Root, ignore.Options{
		Patterns: s.cfg.Patterns, Defaults: defaults, Own: func(name string) ([]byte, error) { return past.file(name) },
	})
	return past, err
}

// file reads a pattern file; nil if there is none.
func (p *pastRules) file(path string) ([]byte, error) {
	e, err := p.store.at(p.root, path)
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
	rules, err := p.folderRules(path.Dir(file))
	if err != nil {
		return false, err
	}
	return rules.Ignored(path.Base(file), isDir), nil
}

func (p *pastRules) folderRules(folder string) (*ignore.Rules, error) {
	if rules, ok := p.known[folder]; ok {
		return rules, nil
	}
	above, err := p.folderRules(path.Dir(folder))
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

// Content writes a file's content to out, after checking its hash.
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
		if i == 0 || id != ids[i-1] { // equal neighbors are usually one hole
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
