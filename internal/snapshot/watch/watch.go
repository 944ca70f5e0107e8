// Package watch tells which folders of a tree have changed, so that a snapshot need not look at the others.
//
// The caller opens each folder of the tree, adds it, and only then reads it: so every change after the read is reported. A folder
// that is not watched counts as changed. The kernel queues an event before the call that made the change returns, and Drain reads all
// events that were queued when it began. Add and Drain may be called concurrently.
//
// A change is not reported if it was made through a mapping of a file that is still mapped, through a hard link of the file in another
// folder, on another machine, or to the layers of an overlay mount. Folders on network and FUSE file systems are not watched.
package watch

import (
	"errors"
	"strings"
)

// Changes are what may have changed in a tree. Paths are relative to its root, which is "".
type Changes struct {
	All     bool            // anything
	Folders map[string]bool // in these folders: the names, the files that they name, and the mode of the folder
	Trees   map[string]bool // these folders, and everything below them: they were created or moved there
}

func noChanges() Changes { return Changes{Folders: map[string]bool{}, Trees: map[string]bool{}} }

// maxChanges is the number of paths from which on Changes has All instead.
const maxChanges = 100_000

// ErrUnwatchable means that the tree cannot be watched.
var ErrUnwatchable = errors.New("cannot be watched")

// event is one event of the kernel about a watched folder, or a name in it.
type event struct {
	lost    bool   // events are missing, or a file system is gone
	watch   int32  // descriptor
	ended   bool   // the folder is not watched any more
	name    string // in the folder; empty for the folder itself
	folder  bool   // name is one
	appears bool   // name was created or moved there
	leaves  bool   // name was moved away
}

// table knows the watched folders, and what has changed in them.
type table struct {
	paths   map[int32]string // by watch descriptor
	watches map[string]int32 // by path
	changed Changes
	end     func(watch int32) // ends a watch
}

func newTable(end func(int32)) *table {
	return &table{paths: map[int32]string{}, watches: map[string]int32{}, changed: noChanges(), end: end}
}

// add notes that a folder is watched. Its descriptor is that of an earlier path if the folder was moved.
func (t *table) add(watch int32, path string) {
	if was, known := t.paths[watch]; known && was != path && t.watches[was] == watch {
		delete(t.watches, was)
	}
	if other, known := t.watches[path]; known && other != watch { // another folder was there
		delete(t.paths, other)
		t.end(other)
	}
	t.paths[watch], t.watches[path] = path, watch
}

// note notes an event. Those of a folder that was moved count for its old path, until it is added with the new one: a folder appears
// there, so that everything below is in Trees.
func (t *table) note(e event) {
	if e.lost || len(t.changed.Folders)+len(t.changed.Trees) > maxChanges {
		t.changed = Changes{All: true, Folders: map[string]bool{}, Trees: map[string]bool{}}
	}
	path, known := t.paths[e.watch]
	if e.lost || !known {
		return
	}
	t.changed.Folders[path] = true
	if e.ended {
		delete(t.paths, e.watch)
		if t.watches[path] == e.watch {
			delete(t.watches, path)
		}
		return
	}
	if !e.folder || e.name == "" {
		return
	}
	below := e.name
	if path != "" {
		below = path + "/" + e.name
	}
	if e.appears {
		t.changed.Trees[below] = true
	}
	if e.leaves {
		t.forget(below)
	}
}

// forget ends the watches of a folder and of all below it.
func (t *table) forget(folder string) {
	for watch, path := range t.paths {
		if path == folder || strings.HasPrefix(path, folder+"/") {
			delete(t.paths, watch)
			delete(t.watches, path)
			t.end(watch)
		}
	}
}

// take returns what has changed since it was called last.
func (t *table) take() Changes {
	changed := t.changed
	t.changed = noChanges()
	return changed
}
