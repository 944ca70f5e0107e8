package snapshot

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"pawl/internal/disk"
	"pawl/internal/oneline"
	"pawl/internal/project"
	"pawl/internal/snapshot/ignore"
	"pawl/internal/snapshot/pack"
)

// walk scans the workspace once, in parallel, and adds new content to the batch. A folder's tree is made when all its
// subfolders are finished. An unchanged folder costs one stat per name. Its names are those of the stat cache if its own times are.
type walk struct {
	ctx     context.Context
	root    int // descriptor
	batch   *pack.Batch
	limit   int64 // bytes that the batch may add
	old     *statCache
	part    extent
	stored  func(pack.ID) ([]Entry, error) // reads the trees of part.base
	tracked *tracked
	index   bool         // git's index is the one that the stat cache was written with
	watched *watchedWalk // nil: without a watch
	started time.Time
	device  uint64 // the root's; only its folders have reliable times
	timed   bool   // the root's file system changes the times of a folder with its names

	zeros   sync.Once // guards putting zeroBlock
	zeroErr error

	mu          sync.Mutex // guards what follows
	more        sync.Cond  // signals that the stack grew or the walk ended
	stack       []*folder
	open        int // unfinished folders
	err         error
	leftOut     []LeftOut
	keepDerived bool      // store derived folders too
	newLeftOut  []LeftOut // what the last walk did not leave out
	leftover    []string  // temporary files of an interrupted restore
	blocks      []*block
	trees       map[pack.ID][]Entry // trees that the stat cache did not have
	stale       bool                // the stat cache must be rewritten
	aged        int                 // bytes of the blocks that would have spared the walk the listing of a folder
	read        int64               // bytes of files
}

// folder is one folder of a walk.
type folder struct {
	parent    *folder
	path      string // relative to the root, which is ""
	rules     *ignore.Rules
	old       *block
	stamp     folderStamp
	known     bool // its names are those of old: it need not be listed
	intact    bool // the store has all objects that old names
	unchanged bool // its names all match old
	gone      bool // no longer a folder, or unreadable
	whole     bool // no folder below it is skipped
	mode      uint32
	names     []stamp // sorted; nil if unchanged
	before    pack.ID // its tree in the base of the walk's extent
	base      []Entry // of before, for a folder of which the walk reads a part
	children  []*folder
	pending   atomic.Int32 // unfinished children
	tree      Entry
}

// dirent is a directory entry. Its kind is DT_REG, DT_DIR and so on.
type dirent struct {
	name string
	kind byte
}

// worker holds the buffers that one goroutine of a walk reuses.
type worker struct {
	*walk
	dirents []byte // for getdents
	names   []dirent
	arena   []byte // for list, with the end of each name
	ends    []int
	file    []byte
}

// run walks the workspace and returns the root's entry.
func (w *walk) run(rules *ignore.Rules) (Entry, error) {
	w.more.L = &w.mu
	w.trees = map[pack.ID][]Entry{}
	w.started = time.Now()
	if err := w.trustTimes(); err != nil {
		return Entry{}, err
	}
	top := &folder{rules: rules, old: w.old.blocks[""], before: w.part.base.Tree}
	w.push(top)
	stop := context.AfterFunc(w.ctx, func() { w.fail(context.Cause(w.ctx)) })
	defer stop()
	first := worker{walk: w}
	first.visitNext()
	if !w.over() {
		w.visitAll()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return top.tree, w.err
}

// visitAll visits the remaining folders in parallel.
func (w *walk) visitAll() {
	var workers sync.WaitGroup
	for range min(max(4, runtime.GOMAXPROCS(0)), 16) { // each may hold a file of largeFile bytes in memory
		workers.Go(func() {
			each := worker{walk: w}
			for each.visitNext() {
			}
		})
	}
	workers.Wait()
}

// visitNext visits the next folder. It is false when the walk is over.
func (w *worker) visitNext() bool {
	f := w.pop()
	if f == nil {
		return false
	}
	if err := w.visit(f); err != nil {
		w.fail(fmt.Errorf("%s: %w", oneline.Path(cmp.Or(f.path, ".")), err))
	}
	return true
}

// over reports whether all folders are finished.
func (w *walk) over() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.open == 0
}

func (w *walk) push(folders ...*folder) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stack = append(w.stack, folders...)
	w.open += len(folders)
	w.more.Broadcast()
}

// pop returns the next folder, or nil when the walk is over.
func (w *walk) pop() *folder {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.stack) == 0 && w.open > 0 && w.err == nil {
		w.more.Wait()
	}
	if w.err != nil || len(w.stack) == 0 {
		return nil
	}
	f := w.stack[len(w.stack)-1]
	w.stack = w.stack[:len(w.stack)-1]
	return f
}

func (w *walk) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
	}
	w.more.Broadcast()
}

func (w *walk) leaveOut(path, why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.leftOut = append(w.leftOut, LeftOut{Path: path, Why: why})
}

// visit scans a folder's names and queues its subfolders.
func (w *worker) visit(f *folder) error {
	fd, err := disk.OpenBelow(w.root, cmp.Or(f.path, "."), unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return w.unreadable(f, err)
	}
	defer unix.Close(fd)
	passes := w.watched.passes(f)
	if err := w.learn(f, fd, passes); err != nil {
		return w.unreadable(f, err)
	}
	if f.parent != nil { // the root's rules already include its own patterns
		if err := w.readRules(f, fd); err != nil {
			return err
		}
	}
	if w.part.isPart(f.path) {
		if err := w.keep(f); err != nil {
			return err
		}
	}
	if f.old != nil {
		if f.intact, err = w.batch.Has(f.old.tree); err != nil {
			return err
		}
	}
	if passes {
		w.pass(f)
	} else if f.unchanged = w.compare(f, fd); !f.unchanged {
		if f.known && !w.recall(f) {
			f.known = false
			if err := w.list(f, fd); err != nil {
				return w.unreadable(f, err)
			}
		}
		err = w.scanFolder(f, fd)
	}
	if err != nil {
		return err
	}
	children := w.toVisit(f.children)
	if len(children) == 0 {
		return w.finish(f)
	}
	f.pending.Store(int32(len(children)))
	w.push(children...)
	return nil
}

// learn finds out the folder's mode and, unless it passes, its names.
func (w *worker) learn(f *folder, fd int, passes bool) error {
	if !passes {
		w.watch(f, fd) // before its times are read: a later change is reported
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	f.mode = uint32(st.Mode) & 0o7777
	if passes {
		f.known, f.stamp = true, f.old.stamp.unlisted(w.old.started)
		return nil
	}
	f.stamp = w.stampOf(&st)
	if f.known = w.knows(f); f.known {
		return nil
	}
	return w.list(f, fd)
}

// unreadable handles a folder that cannot be read: gone, replaced by something else, or left out.
func (w *worker) unreadable(f *folder, err error) error {
	f.gone = true
	switch {
	case f.parent == nil, isResourceError(err):
		return err
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP), errors.Is(err, unix.EXDEV):
	case errors.Is(err, unix.ENAMETOOLONG):
		w.leaveOut(f.path, whyTooDeep)
	default:
		w.leaveOut(f.path, err.Error())
	}
	return w.finish(f)
}

// list reads the folder's names into w.names, sorted, without the root's .git, .pawl and temporary files.
func (w *worker) list(f *folder, fd int) error {
	if w.dirents == nil {
		w.dirents = make([]byte, 64<<10)
	}
	w.arena, w.names = w.arena[:0], w.names[:0]
	ends := w.ends[:0]
	err := readNames(fd, w.dirents, func(name []byte, kind byte) {
		if string(name) == project.Folder || string(name) == gitFolder && f.parent == nil {
			return
		}
		if isTemporary(name) {
			w.mu.Lock()
			w.leftover = append(w.leftover, join(f.path, string(name)))
			w.mu.Unlock()
			f.stamp = folderStamp{} // the next walk must find it, too
			return
		}
		w.arena = append(doubled(w.arena, len(name)), name...)
		w.names = append(doubled(w.names, 1), dirent{kind: kind})
		ends = append(doubled(ends, 1), len(w.arena))
	})
	w.ends = ends
	all, from := string(w.arena), 0
	for i, end := range ends {
		w.names[i].name, from = all[from:end], end
	}
	slices.SortFunc(w.names, func(a, b dirent) int { return strings.Compare(a.name, b.name) })
	return err
}

// doubled returns a slice with room for n more elements. append grows a long one by a quarter only, so that it copies, and touches, more.
func doubled[T any](all []T, n int) []T {
	if len(all)+n > cap(all) {
		return slices.Grow(all, len(all)+n)
	}
	return all
}

// keep limits the folder listed last to the names that a walk of a part reads. The others are kept as they are in the base.
func (w *worker) keep(f *folder) (err error) {
	f.old = nil
	w.names = slices.DeleteFunc(w.names, func(d dirent) bool { return !w.part.readsIn(f.path, d.name) })
	if f.before != (pack.ID{}) {
		f.base, err = w.stored(f.before)
	}
	return err
}

// has reports whether a folder contains name. It must be the one listed last, or need no listing.
func (w *worker) has(f *folder, name string) bool {
	if f.known {
		return f.old.has(name)
	}
	_, found := slices.BinarySearchFunc(w.names, name, func(d dirent, name string) int { return strings.Compare(d.name, name) })
	return found
}

// readRules loads the rules for the folder's entries.
func (w *worker) readRules(f *folder, fd int) error {
	var patterns [2][]byte
	for i, name := range []string{ignore.GitFile, ignore.PawlFile} {
		if !w.has(f, name) {
			continue
		}
		data, err := readPatterns(fd, name)
		if err != nil {
			return err
		}
		patterns[i] = data
	}
	f.rules = f.parent.rules.In(f.path[strings.LastIndexByte(f.path, '/')+1:], patterns[0], patterns[1])
	return nil
}

func (w *walk) child(f *folder, name string) *folder {
	path := join(f.path, name)
	child := &folder{parent: f, path: path, old: w.old.blocks[path], whole: w.watched.whole(f, path)}
	if at, found := slices.BinarySearchFunc(f.base, name, compareName); found {
		child.before = treeOf(&f.base[at])
	}
	return child
}

func join(folder, name string) string {
	if folder == "" {
		return name
	}
	return folder + "/" + name
}

// finish makes the folder's tree, and those of its parents that waited only for it.
func (w *walk) finish(f *folder) error {
	for ; f != nil; f = f.parent {
		if !f.gone {
			if err := w.makeTree(f); err != nil {
				return err
			}
		}
		f.names, f.base, f.children = nil, nil, nil // the parent needs only the tree
		w.mu.Lock()
		if w.open--; w.open == 0 {
			w.more.Broadcast()
		}
		w.mu.Unlock()
		if f.parent == nil || f.parent.pending.Add(-1) > 0 {
			return nil
		}
	}
	return nil
}

// makeTree makes the folder's tree, or reuses the one from the stat cache.
func (w *walk) makeTree(f *folder) error {
	if f.unchanged && f.old.mode == f.mode && !slices.ContainsFunc(f.children, (*folder).changed) {
		f.tree = f.old.entry()
		w.addOld(f)
		return nil
	}
	if f.unchanged {
		f.names = f.old.stamps()
	}
	entries, names := f.entries()
	if len(f.base) > 0 {
		entries = append(entries, slices.DeleteFunc(f.base, func(e Entry) bool { return w.part.readsIn(f.path, e.Name) })...)
		slices.SortFunc(entries, func(a, b Entry) int { return compareName(a, b.Name) })
	}
	b := &block{path: f.path, mode: f.mode, stamp: f.stamp, names: len(names), rules: f.rules.Sum(), unsaved: true}
	for _, e := range entries {
		b.size += e.Size
		b.files += e.count()
	}
	for i := range names {
		b.entries = names[i].append(b.entries)
	}
	var err error
	b.tree, err = w.batch.Put(encodeTree(entries))
	if err != nil {
		return err
	}
	f.tree = b.entry()
	b.encode()
	w.addBlock(b, f.old == nil || !bytes.Equal(b.raw, f.old.raw) || slices.ContainsFunc(names, w.old.mustReread))
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.watched != nil {
		w.watched.fresh[f.path] = true
	}
	w.trees[b.tree] = entries
	return nil
}

// changed reports whether the folder differs from the stat cache.
func (f *folder) changed() bool {
	return f.gone || f.old == nil || f.tree.ID != f.old.tree || f.mode != f.old.mode
}

// entries returns the folder's entries, with the trees of its subfolders, and the stamps of names that still exist.
func (f *folder) entries() ([]Entry, []stamp) {
	entries := make([]Entry, 0, len(f.names))
	names := f.names[:0]
	children := f.children
	for i := range f.names {
		s := f.names[i]
		switch s.kind {
		case leftOutKind:
		case byte(Folder):
			child := children[0]
			children = children[1:]
			if child.gone {
				f.stamp = folderStamp{} // the next walk must find it, too
				continue
			}
			e := child.tree
			e.Name = s.name
			entries = append(entries, e)
		default:
			entries = append(entries, s.entry(s.name))
		}
		names = append(names, s)
	}
	return entries, names
}

func (w *walk) addBlock(b *block, fresh bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.blocks = append(w.blocks, b)
	w.stale = w.stale || fresh
}

// addOld adds the block of an unchanged folder. New times of the folder alone are not worth a write of the stat cache.
func (w *walk) addOld(f *folder) {
	b := f.old.stamped(f.stamp)
	w.addBlock(b, false)
	if !f.known && f.stamp.settled(w.started.UnixNano()) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.aged += len(b.raw)
	}
}

// maxPatterns is the largest pattern file that is read, in bytes.
const maxPatterns = 16 << 20

// readPatterns reads a pattern file. Like git, it skips anything but readable regular files, and huge ones.
func readPatterns(fd int, name string) ([]byte, error) {
	file, err := unix.Openat(fd, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil
	}
	f := os.NewFile(uintptr(file), name)
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > maxPatterns {
		return nil, nil
	}
	return readAll(f)
}
