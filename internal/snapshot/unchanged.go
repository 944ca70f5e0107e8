package snapshot

import (
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// compare reports whether everything in the folder matches the stat cache. If so, it also collects the subfolders.
func (w *worker) compare(f *folder, fd int) bool {
	if f.old == nil || !f.intact || f.old.rules != f.rules.Sum() {
		return false
	}
	names := len(w.names)
	if f.known {
		names = f.old.names
	}
	parts := make([]comparedPart, max(1, min(names/minPart, runtime.GOMAXPROCS(0))))
	var others sync.WaitGroup
	for i := range parts {
		from, to := i*names/len(parts), (i+1)*names/len(parts)
		compare := func() { parts[i] = w.comparePart(f, fd, from, to, to == names) }
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

// comparePart compares the names from one position in the folder to another. The last part also requires that the stat cache has no more.
func (w *worker) comparePart(f *folder, fd, from, to int, last bool) (p comparedPart) {
	known := blockReader{rest: f.old.entries}
	var s stamp
	var before []byte
	for range from {
		before, _ = known.next(&s)
	}
	for i := from; i < to; i++ {
		if (i-from)%yieldEvery == yieldEvery-1 {
			runtime.Gosched() // to a goroutine that does something else meanwhile
		}
		name, ok := known.next(&s)
		switch {
		case !ok:
			return p
		case !f.known && !w.names[i].fits(name, &s), f.known && !follows(before, name): // the file may say anything
			return p
		case !w.looksSame(f, fd, name, &s):
			return p
		}
		before = name
		switch s.kind {
		case byte(Folder):
			p.folders = append(p.folders, string(name))
		case leftOutKind:
			p.leftOut = append(p.leftOut, LeftOut{Path: join(f.path, string(name)), Why: s.text})
		}
		p.indexed = p.indexed || s.dependsOnIndex()
	}
	_, more := known.next(&s)
	p.same = !known.bad && (!last || !more)
	return p
}

// fits reports whether a name has the one of a stamp, and its type.
func (d *dirent) fits(name []byte, s *stamp) bool {
	switch {
	case string(name) != d.name:
		return false
	case s.kind == byte(Folder), s.isDerived():
		return d.kind == unix.DT_DIR
	case s.kind == leftOutKind:
		return s.mode == uint32(d.kind)
	}
	return true
}

// looksSame reports whether what has the name matches its stamp.
func (w *worker) looksSame(f *folder, fd int, name []byte, s *stamp) bool {
	if s.dependsOnIndex() && !w.index {
		return false // git's index changed: whether git tracks the name is open
	}
	switch {
	case s.isDerived(): // the evidence in it may be gone
		return w.derived(f, fd, string(name)) == s.text
	case s.kind == leftOutKind: // try unreadable names again
		return s.mode != unix.DT_UNKNOWN && (isRule(s.text) || isSpecial(byte(s.mode)))
	case s.kind == byte(Folder):
		return true
	}
	var st unix.Stat_t
	if err := statName(fd, name, &st); err != nil {
		return false
	}
	w.noteLinks(f, &st)
	return s.matches(&st) && w.old.settled(s.ctime)
}
