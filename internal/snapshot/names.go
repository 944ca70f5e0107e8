package snapshot

import (
	"bytes"

	"golang.org/x/sys/unix"

	"pawl/internal/project"
)

// folderStamp identifies a version of a folder's names by the folder's inode and times. The zero stamp identifies none.
type folderStamp struct {
	inode        uint64
	mtime, ctime int64 // ns
}

// trustTimes finds out which folders have reliable times: those of the root's file system, if that is known to change them with the names.
func (w *walk) trustTimes() error {
	var st unix.Stat_t
	if err := unix.Fstat(w.root, &st); err != nil {
		return err
	}
	w.device, w.timed = uint64(st.Dev), timesNames(w.root)
	return nil
}

// stampOf returns the stamp of a folder that is about to be listed; zero if its times are not reliable.
func (w *walk) stampOf(st *unix.Stat_t) folderStamp {
	if !w.timed || uint64(st.Dev) != w.device {
		return folderStamp{}
	}
	mtime, ctime := timesOf(st)
	return folderStamp{inode: st.Ino, mtime: mtime, ctime: ctime}
}

// settled reports whether a walk that started then listed the folder so long after its times that a later change has changed them.
func (s folderStamp) settled(started int64) bool {
	return s != (folderStamp{}) && settled(s.ctime, started)
}

// unlisted returns the stamp for a walk that does not list the folder. Unless the last walk settled it, only a walk that lists the folder can
// give it a stamp.
func (s folderStamp) unlisted(last int64) folderStamp {
	if s.settled(last) {
		return s
	}
	return folderStamp{}
}

// stamped returns the block with a stamp.
func (b *block) stamped(stamp folderStamp) *block {
	if b.stamp == stamp {
		return b
	}
	other := *b
	other.stamp = stamp
	other.encode()
	return &other
}

// knows reports whether the folder certainly has the names that the stat cache has of it.
func (w *walk) knows(f *folder) bool {
	return f.old != nil && f.stamp == f.old.stamp && f.stamp.settled(w.old.started) && !w.part.isPart(f.path)
}

// follows reports whether name can follow another one in a folder.
func follows(before, name []byte) bool {
	return bytes.Compare(before, name) < 0 && bytes.IndexByte(name, '/') < 0 && bytes.IndexByte(name, 0) < 0 &&
		string(name) != "." && string(name) != ".." && string(name) != project.Folder
}

// has reports whether the folder contained name.
func (b *block) has(name string) bool {
	known := blockReader{rest: b.entries}
	var s stamp
	for {
		if is, ok := known.next(&s); !ok || string(is) >= name {
			return ok && string(is) == name
		}
	}
}

// recall lists the names of a folder that are those of the stat cache, as list does. It reports whether they can be names.
func (w *worker) recall(f *folder) bool {
	w.names = w.names[:0]
	var before []byte
	var s stamp
	for known := (blockReader{rest: f.old.entries}); ; {
		name, ok := known.next(&s)
		if !ok {
			return !known.bad
		}
		if !follows(before, name) {
			return false
		}
		w.names, before = append(w.names, dirent{name: string(name), kind: s.direntKind()}), name
	}
}

// direntKind returns the type that the name had in its folder.
func (s *stamp) direntKind() byte {
	switch Kind(s.kind) {
	case Folder:
		return unix.DT_DIR
	case Link:
		return unix.DT_LNK
	case leftOutKind:
		return byte(s.mode)
	}
	return unix.DT_REG
}
