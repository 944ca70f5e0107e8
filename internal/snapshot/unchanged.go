package snapshot

import (
	"runtime"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// compare reports whether everything in the folder matches the stat cache. If so, it also collects the subfolders.
func (w *worker) compare(f *folder, fd int) bool {
	if f.old == nil || !f.intact || f.old.rules != f.rules.Sum() {
		return false
	}
	parts := make([]comparedPart, max(1, min(len(w.names)/minPart, runtime.GOMAXPROCS(0))))
	var others sync.WaitGroup
	for i := range parts {
		from, to := i*len(w.names)/len(parts), (i+1)*len(w.names)/len(parts)
		compare := func() { parts[i] = w.comparePart(f, fd, from, to) }
		if i < len(parts)-1 {
			others.Go(compare)
		} else {
			compare()
		}
	}
	others.Wait()
	indexed := false
	for _, p := range parts {
		if !p.same {
			f.children = f.children[:0]
			return false
		}
		for _, name := range p.folders {
			f.children = append(f.children, w.child(f, name))
		}
		indexed = indexed || p.indexed
	}
	w.mu.Lock()
	for _, p := range parts {
		w.leftOut = append(w.leftOut, p.leftOut...)
	}
	w.mu.Unlock()
	w.noteFolder(f, false, indexed)
	return true
}

// minPart is how many names of a folder are worth a goroutine.
const minPart = 500

// yieldEvery is after how many names a goroutine lets others run. Each takes about a microsecond.
const yieldEvery = 100

// comparedPart is what compare found among some names of a folder.
type comparedPart struct {
	same    bool // they are those of the stat cache, and match it
	folders []string
	leftOut []LeftOut
	indexed bool // a stamp depends on git's index
}

// comparePart compares the names from one position in w.names to another. The last part also requires that the stat cache has no more.
func (w *worker) comparePart(f *folder, fd, from, to int) (p comparedPart) {
	known := blockReader{rest: f.old.entries}
	var s stamp
	for range from {
		known.next(&s)
	}
	for i := from; i < to; i++ {
		if (i-from)%yieldEvery == yieldEvery-1 {
			runtime.Gosched() // to a goroutine that does something else meanwhile
		}
		d := &w.names[i]
		name, ok := known.next(&s)
		if !ok || string(name) != d.name || !w.looksSame(f, fd, d, &s) {
			return p
		}
		switch s.kind {
		case byte(Folder):
			p.folders = append(p.folders, d.name)
		case leftOutKind:
			p.leftOut = append(p.leftOut, LeftOut{Path: join(f.path, d.name), Why: s.text})
		}
		p.indexed = p.indexed || s.dependsOnIndex()
	}
	_, more := known.next(&s)
	p.same = !known.bad && (to < len(w.names) || !more)
	return p
}

// looksSame reports whether a name matches its stamp.
func (w *worker) looksSame(f *folder, fd int, d *dirent, s *stamp) bool {
	if s.dependsOnIndex() && !w.index {
		return false // git's index changed: whether git tracks the name is open
	}
	switch {
	case s.kind == leftOutKind && strings.HasPrefix(s.text, derivedPrefix): // the evidence in it may be gone
		return d.kind == unix.DT_DIR && w.derived(fd, d.name) == s.text
	case s.kind == leftOutKind: // try unreadable names again
		return s.mode == uint32(d.kind) && d.kind != unix.DT_UNKNOWN && (isRule(s.text) || isSpecial(d.kind))
	case s.kind == byte(Folder):
		return d.kind == unix.DT_DIR
	}
	var st unix.Stat_t
	if err := unix.Fstatat(fd, d.name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return false
	}
	w.noteLinks(f, &st)
	return s.matches(&st) && w.old.settled(s.ctime)
}
