package snapshot

import (
	"path"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"pawl"
	"pawl/internal/snapshot/watch"
)

// watching is what a Store knows about the workspace between two snapshots. The Store's mutex guards it.
type watching struct {
	on      bool
	watcher *watch.Watcher // nil: not yet, or no more
	base    *base          // nil: the next snapshot walks
}

// base is what the last walk of all folders found. The watcher reports every change since.
type base struct {
	cache   *statCache
	recheck map[string]bool // folders in which a file may change unreported, or has changed just before the walk
	links   map[uint64]bool // inodes of the files that have several hard links
	indexed map[string]bool // folders with names that git's index decides about
	fresh   map[string]bool // folders whose trees are not in the store if that snapshot was not stored
	leftOut []LeftOut

	generation uint64    // of the store
	unsaved    bool      // the stat file is older
	saved      time.Time // when the stat file was written
}

// Watch lets the following snapshots of some kinds skip the folders in which nothing has changed since the one before, by watching the
// workspace. The first of them starts the watch. Where a workspace cannot be watched, all snapshots walk it.
func (s *Store) Watch() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watching.on = !s.cfg.ReadOnly
}

// mayRest reports whether a snapshot of a kind may rely on the watch. What a step's result or a restore relies on is walked.
func mayRest(kind pawl.CheckpointKind) bool {
	switch kind {
	case pawl.CheckpointTool, pawl.CheckpointItem, pawl.CheckpointHeartbeat, pawl.CheckpointManual:
		return true
	}
	return false
}

// close ends the watch.
func (w *watching) close() error {
	if w.watcher == nil {
		return nil
	}
	err := w.watcher.Close()
	w.watcher, w.base = nil, nil
	return err
}

// begin has a walk watched, and lets it skip what did not change, if rests. It takes the base: after a failed walk the next one visits
// every folder.
func (w *watching) begin(l *scan, rests bool) {
	if !w.on || w.watcher == nil && !rests {
		return
	}
	if w.watcher == nil {
		var err error
		if w.watcher, err = watch.Open(l.walk.root, l.store.cfg.Root); err != nil {
			w.on = false
			return
		}
	}
	before := w.base
	w.base = nil
	generation, err := l.store.packs.Generation()
	if err != nil || before != nil && before.generation != generation { // what the base names may be gone
		before = nil
	}
	changed, err := w.watcher.Drain(l.walk.root)
	if err != nil {
		w.on = false
		_ = w.close() // what it knew is not used
		return
	}
	l.watched = &watchedWalk{
		watcher: w.watcher, base: before, generation: generation, skips: rests && before != nil && !changed.All, changed: changed,
		passed: map[string]bool{}, skipped: map[string]bool{}, fresh: map[string]bool{},
		recheck: map[string]bool{}, links: map[uint64]bool{}, indexed: map[string]bool{},
	}
	if before != nil {
		l.old, l.stale = before.cache, before.unsaved
	}
}

// watchedWalk is a walk that adds the folders that it visits to the watcher, and may skip those in which nothing has changed.
type watchedWalk struct {
	watcher    *watch.Watcher
	base       *base  // nil: none
	generation uint64 // of the store
	skips      bool
	changed    watch.Changes
	due        map[string]bool // folders to visit
	above      map[string]bool // folders to pass through, on the way to those

	// guarded by the walk's mutex
	passed  map[string]bool
	skipped map[string]bool // folders that are as in the base, with everything below them
	doubt   bool            // the walk must be repeated without skipping
	fresh   map[string]bool
	recheck map[string]bool
	links   map[uint64]bool
	indexed map[string]bool
}

// remembers reports whether the walk knows what the last one found.
func (w *watchedWalk) remembers() bool { return w != nil && w.base != nil }

// skip computes which folders the walk must visit.
func (w *watchedWalk) skip(l *walk) {
	if w == nil || !w.skips {
		return
	}
	w.due, w.above = w.changed.Folders, map[string]bool{}
	add := func(folders map[string]bool) {
		for folder := range folders {
			w.due[folder] = true
		}
	}
	add(w.changed.Trees)
	add(w.base.recheck)
	if !l.index {
		add(w.base.indexed)
	}
	for folder, b := range w.base.cache.blocks {
		if !w.watcher.Watches(folder) {
			w.due[folder] = true
		} else if w.base.fresh[folder] {
			has, err := l.batch.Has(b.tree)
			w.due[folder] = w.due[folder] || !has || err != nil
		}
	}
	for folder, is := range w.due {
		for is && folder != "" {
			if folder = treePath(path.Dir(folder)); w.above[folder] {
				break
			}
			w.above[folder] = true
		}
	}
}

// passes reports whether nothing has changed in a folder itself.
func (w *watchedWalk) passes(f *folder) bool {
	return w != nil && w.skips && !f.whole && f.old != nil && !w.due[f.path] && (f.parent != nil || f.old.rules == f.rules.Sum())
}

// keeps reports whether nothing has changed in a folder and in all below it.
func (w *watchedWalk) keeps(f *folder) bool { return w.passes(f) && !w.above[f.path] }

// whole reports whether all of a child must be visited: it is new, or other rules hold there.
func (w *watchedWalk) whole(parent *folder, child string) bool {
	return w != nil && (parent.whole || parent.old == nil || parent.old.rules != parent.rules.Sum() || w.changed.Trees[child])
}

// pass collects the subfolders of a folder in which nothing has changed.
func (w *worker) pass(f *folder) {
	for _, s := range f.old.stamps() {
		if s.kind == byte(Folder) {
			f.children = append(f.children, w.child(f, s.name))
		}
	}
	f.unchanged = true
	w.mu.Lock()
	defer w.mu.Unlock()
	w.watched.passed[f.path] = true
	if f.old.rules != f.rules.Sum() { // a pattern file has changed just now
		w.watched.doubt = true
	}
}

// toVisit returns the children that the walk visits. The others have the trees that they had.
func (w *walk) toVisit(children []*folder) []*folder {
	if w.watched == nil || !w.watched.skips {
		return children
	}
	var visit []*folder
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range children {
		if !w.watched.keeps(c) {
			visit = append(visit, c)
			continue
		}
		c.tree, c.mode = c.old.entry(), c.old.mode
		w.watched.skipped[c.path] = true
	}
	return visit
}

// watch has the watcher report what happens in an open folder from now on.
func (w *walk) watch(f *folder, fd int) {
	if w.watched == nil {
		return
	}
	_ = w.watched.watcher.Add(fd, f.path) // what is not watched is visited
}

// noteLinks notes a file with several hard links: it may change through one in another folder. If it had only one in the base, the
// folder of the other is unknown.
func (w *walk) noteLinks(f *folder, st *unix.Stat_t) {
	if w.watched == nil || st.Nlink < 2 || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.watched.links[st.Ino], w.watched.recheck[f.path] = true, true
	if w.watched.skips && !w.watched.base.links[st.Ino] {
		w.watched.doubt = true
	}
}

// maySlip reports whether a file may have been changed after it was read, within the same clock tick.
func (w *walk) maySlip(s stamp) bool {
	return s.kind != leftOutKind && Kind(s.kind) != Folder && s.ctime >= w.started.UnixNano()-clockGrain
}

// noteFolder notes what the names of a visited folder mean for the next walk.
func (w *walk) noteFolder(f *folder, recheck, indexed bool) {
	if w.watched == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if recheck {
		w.watched.recheck[f.path] = true
	}
	if indexed {
		w.watched.indexed[f.path] = true
	}
}

// doubts reports whether the walk must be repeated without skipping.
func (w *watchedWalk) doubts() bool { return w != nil && w.doubt }

// carry adds what the walk skipped: the folders, and what they leave out.
func (w *walk) carry() {
	if w.watched == nil || !w.watched.skips {
		return
	}
	for folder, b := range w.watched.base.cache.blocks {
		if w.watched.kept(folder) {
			w.blocks = append(w.blocks, b.stamped(b.stamp.unlisted(w.old.started)))
		}
	}
	for _, l := range w.watched.base.leftOut {
		if folder := treePath(path.Dir(l.Path)); w.watched.passed[folder] || w.watched.kept(folder) {
			w.leftOut = append(w.leftOut, l)
		}
	}
	for folder := range w.watched.base.indexed {
		if w.watched.passed[folder] || w.watched.kept(folder) {
			w.watched.indexed[folder] = true
		}
	}
}

// kept reports whether a folder was skipped, alone or with one above it.
func (w *watchedWalk) kept(folder string) bool {
	is, known := w.skipped[folder]
	if !known && folder != "" {
		is = w.kept(treePath(path.Dir(folder)))
		w.skipped[folder] = is
	}
	return is
}

const saveAfter = time.Minute

// defersSave reports whether the stat file is left as it is, because writing it would take longer than the walk.
func (w *watchedWalk) defersSave(l *walk) bool {
	if w == nil || !w.skips || time.Since(w.base.saved) >= saveAfter {
		return false
	}
	return l.cacheSize() > smallCache
}

// end makes what a walk found the base of the next one.
func (w *watching) end(l *walk, found *statCache, saved bool) {
	if l.watched == nil {
		return
	}
	next := &base{
		cache: found,
		links: l.watched.links, recheck: l.watched.recheck, indexed: l.watched.indexed, fresh: l.watched.fresh,
		leftOut: l.leftOut, generation: l.watched.generation, saved: time.Now(),
	}
	next.unsaved = !saved
	if before := l.watched.base; !saved && before != nil {
		next.saved = before.saved
	}
	for _, left := range l.leftOut {
		if left.Unreadable() || strings.HasPrefix(left.Why, derivedPrefix+"it has ") { // that may change without an event in this folder
			next.recheck[treePath(path.Dir(left.Path))] = true
		}
	}
	w.base = next
}
