package snapshot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"pawl/internal/disk"
	"pawl/internal/oneline"
	"pawl/internal/snapshot/pack"
)

// tempPrefix starts the names of files that a restore is about to rename into place. An interrupted restore leaves them
// behind. Snapshots ignore them, and the next restore removes them.
const tempPrefix = ".pawl-restore-"

func isTemporary(name []byte) bool {
	random, is := bytes.CutPrefix(name, []byte(tempPrefix))
	return is && len(random) == 16 && len(bytes.Trim(random, "0123456789abcdef")) == 0
}

// Apply carries the changes out: removals first, then new content, folder modes last. It touches nothing else. After a
// crash, call Prepare again to finish the restore. When Apply returns nil, the result survives a power failure. A file
// that changed after Save is left alone and reported as an error. A file is replaced even if only its mode differs,
// because it may have hard links outside the workspace.
func (r *Restoration) Apply(ctx context.Context) error {
	if r.since.IsZero() {
		return errors.New("restore: the current state has not been saved")
	}
	a := applier{ctx: ctx, store: r.store, folder: r.store.cfg.Root, since: r.since.UnixNano() - clockGrain}
	return a.run(r.Changes, r.leftover)
}

// Export writes a snapshot, or only the given paths and everything below them, into a folder that is empty or missing.
func (s *Store) Export(ctx context.Context, r Record, paths []string, folder string) ([]Change, error) {
	switch entries, err := os.ReadDir(folder); {
	case err == nil && len(entries) > 0:
		return nil, fmt.Errorf("%s is not empty", folder)
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return nil, err
	}
	changes, err := s.ExportChanges(r, paths)
	if err != nil {
		return nil, err
	}
	if err := MarkUnfinished(folder); err != nil {
		return nil, err
	}
	a := applier{ctx: ctx, store: s, folder: folder}
	if sizeOf(changes) >= cloneFrom {
		if a.clones, err = s.newCloner(); err != nil {
			return nil, err
		}
		defer a.clones.close()
	}
	if err := a.run(changes, nil); err != nil {
		return changes, err
	}
	return changes, unmark(folder, changes)
}

// Fill writes a snapshot into a folder that has nothing but .pawl and the mark of MarkUnfinished, which it removes.
func (s *Store) Fill(ctx context.Context, r Record, folder string) ([]Change, error) {
	return s.fill(r, &applier{ctx: ctx, store: s, folder: folder})
}

// FillPassing is like Fill, but what it writes does not survive a power failure.
func (s *Store) FillPassing(ctx context.Context, r Record, folder string) ([]Change, error) {
	return s.fill(r, &applier{ctx: ctx, store: s, folder: folder, passing: true})
}

func (s *Store) fill(r Record, a *applier) ([]Change, error) {
	changes, err := s.ExportChanges(r, nil)
	if err != nil {
		return nil, err
	}
	if err := a.run(changes, nil); err != nil {
		return changes, err
	}
	return changes, unmark(a.folder, changes)
}

// MarkUnfinished creates a folder if it is missing, and marks it: not all files are written into it yet.
func MarkUnfinished(folder string) error {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	return disk.Put(filepath.Join(folder, Unfinished), []byte("pawl has not written all files of this folder. Remove it, and repeat the command.\n"))
}

// unmark removes the mark, unless the snapshot has a file with its name.
func unmark(folder string, changes []Change) error {
	if slices.ContainsFunc(changes, func(c Change) bool { return c.Path == Unfinished }) {
		return nil
	}
	return disk.Remove(filepath.Join(folder, Unfinished))
}

// ExportChanges returns what Export would write.
func (s *Store) ExportChanges(r Record, paths []string) ([]Change, error) {
	paths = clean(paths)
	if err := r.requires(paths); err != nil {
		return nil, err
	}
	all, err := diff(s.tree, pack.ID{}, r.Tree, paths)
	return within(all, paths), err
}

// Unfinished is the file that marks a folder into which not all files are written yet.
const Unfinished = "PAWL-UNFINISHED"

// applier carries out changes in one folder.
type applier struct {
	ctx    context.Context
	store  *Store
	folder string
	root   int     // descriptor of folder
	since  int64   // ns: files changed after this may differ from the snapshot that Save took
	clones *cloner // nil: read all content from the store

	passing bool // what is written need not be durable

	mu    sync.Mutex        // guards modes
	modes map[string]uint32 // final modes of folders, by path
}

func (a *applier) run(changes []Change, leftover []string) (err error) {
	release, err := a.store.packs.Hold(a.ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	if a.root, err = openFolder(a.folder); err != nil {
		return err
	}
	defer unix.Close(a.root)
	a.modes = map[string]uint32{}
	for _, c := range changes {
		if c.New != nil && c.New.Kind == Folder {
			a.modes[c.Path] = c.New.Mode
		}
	}
	for _, name := range leftover {
		if err := a.remove(name, nil); err != nil && !errors.Is(err, unix.ENOENT) {
			return err
		}
	}
	if err := a.clear(changes); err != nil {
		return err
	}
	if err := a.makeFolders(changes); err != nil {
		return err
	}
	if err := a.writeAll(changes); err != nil {
		return err
	}
	if err := a.setModes(); err != nil {
		return err
	}
	return a.sync(changes)
}

// clear removes what is no longer wanted, and what turns from a folder into something else or back, deepest first.
func (a *applier) clear(changes []Change) error {
	for _, c := range slices.Backward(changes) {
		if c.Old == nil || c.New != nil && (c.Old.Kind == Folder) == (c.New.Kind == Folder) {
			continue
		}
		err := a.remove(c.Path, c.Old)
		if c.New == nil && errors.Is(err, unix.ENOTEMPTY) {
			continue // a file appeared since Save, and no snapshot has it
		}
		if err != nil && !errors.Is(err, unix.ENOENT) {
			return err
		}
	}
	return nil
}

// remove removes a file or an empty folder. With was set, the file must still match it; leftovers of an earlier restore
// have none.
func (a *applier) remove(p string, was *Entry) error {
	isFolder := was != nil && was.Kind == Folder
	return a.withFolder(path.Dir(p), func(fd int) error {
		if was != nil && !isFolder {
			if err := a.unchanged(fd, p, was); err != nil {
				return err
			}
		}
		return disk.RemoveAt(fd, path.Base(p), isFolder)
	})
}

// unchanged refuses a file that was modified since Save. If ctime is newer, it compares the content, since a new ctime
// alone may come from touch or a removed hard link.
func (a *applier) unchanged(fd int, p string, was *Entry) error {
	var st unix.Stat_t
	if err := unix.Fstatat(fd, path.Base(p), &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return nil // the caller's own system call reports it
	}
	if _, ctime := timesOf(&st); ctime < a.since {
		return nil
	}
	same, err := a.store.isAt(fd, path.Base(p), &st, was)
	if err != nil {
		return fmt.Errorf("read %s again: %w", oneline.Path(p), err)
	}
	if !same {
		return fmt.Errorf("%s changed during the restore, which stopped there: run it again", oneline.Path(p))
	}
	return nil
}

// isAt reports whether the name in the open folder fd still is the file or link that e describes.
func (s *Store) isAt(fd int, name string, st *unix.Stat_t, e *Entry) (bool, error) {
	if e.Kind == Link {
		target, err := readLink(fd, name)
		return target == e.Target && err == nil, nil
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || uint32(st.Mode)&0o7777 != e.Mode || st.Size != e.Size {
		return false, nil
	}
	ids, step := []pack.ID{e.ID}, e.Size
	if e.Kind == Blocks {
		var err error
		if ids, err = s.blocks(e.ID); err != nil {
			return false, err
		}
		step = blockSize
	}
	f, err := openFile(fd, name)
	if err != nil {
		return false, err
	}
	defer f.Close()
	buf := make([]byte, step)
	for i, id := range ids {
		if e.Kind == Blocks && id == zeroBlock() && isHole(f, int64(i)*step) {
			continue
		}
		n, err := f.ReadAt(buf, int64(i)*step)
		if err != nil && err != io.EOF {
			return false, err
		}
		if pack.IDOf(buf[:n]) != id {
			return false, nil
		}
	}
	return true, nil
}

// withFolder opens a folder and calls do. If do lacks permission, it makes the folder writable and calls do again;
// setModes restores the mode.
func (a *applier) withFolder(folder string, do func(fd int) error) error {
	fd, err := disk.OpenBelow(a.root, folder, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return fmt.Errorf("open %s: %w", oneline.Path(folder), err)
	}
	defer unix.Close(fd)
	err = do(fd)
	if !errors.Is(err, unix.EACCES) {
		return err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if err := disk.Chmod(fd, uint32(st.Mode)&0o7777|0o700); err != nil {
		return fmt.Errorf("%s: %w", oneline.Path(folder), err)
	}
	a.mu.Lock()
	if _, known := a.modes[folder]; !known {
		a.modes[folder] = uint32(st.Mode) & 0o7777
	}
	a.mu.Unlock()
	return do(fd)
}

func (a *applier) makeFolders(changes []Change) error {
	for _, c := range changes {
		if c.New == nil || c.New.Kind != Folder || c.Old != nil && c.Old.Kind == Folder {
			continue
		}
		err := a.withFolder(path.Dir(c.Path), func(fd int) error {
			if err := disk.MakeFolderAt(fd, path.Base(c.Path)); err != nil {
				return err
			}
			return disk.GiveFolderAt(fd, path.Base(c.Path))
		})
		if err != nil && !errors.Is(err, unix.EEXIST) {
			return err
		}
	}
	return nil
}

// writeAll writes files and links, several folders at a time.
func (a *applier) writeAll(changes []Change) error {
	groups := map[string][]Change{} // by folder
	for _, c := range changes {
		if c.New != nil && c.New.Kind != Folder {
			folder := path.Dir(c.Path)
			groups[folder] = append(groups[folder], c)
		}
	}
	ctx, cancel := context.WithCancelCause(a.ctx)
	defer cancel(nil)
	work := make(chan []Change)
	var writers sync.WaitGroup
	for range max(2, runtime.GOMAXPROCS(0)) {
		writers.Go(func() {
			for group := range work {
				if err := a.writeGroup(ctx, group); err != nil {
					cancel(err)
				}
			}
		})
	}
	for _, folder := range slices.Sorted(maps.Keys(groups)) {
		work <- groups[folder]
	}
	close(work)
	writers.Wait()
	return context.Cause(ctx)
}

func (a *applier) writeGroup(ctx context.Context, group []Change) error {
	folder := path.Dir(group[0].Path)
	var known map[string]stamp
	if a.clones != nil {
		known = a.clones.known(treePath(folder))
	}
	return a.withFolder(folder, func(fd int) error {
		for len(group) > 0 && ctx.Err() == nil {
			if err := a.write(fd, group[0], known); err != nil {
				return fmt.Errorf("restore %s: %w", oneline.Path(group[0].Path), err)
			}
			group = group[1:]
		}
		return nil
	})
}

// write writes one file or link under a temporary name and renames it, so that a crash leaves no partial file under its final name.
// A link is created in place, and so is all of an export, which starts in an empty folder.
func (a *applier) write(fd int, c Change, known map[string]stamp) error {
	name := path.Base(c.Path)
	replaces := c.Old != nil && c.Old.Kind != Folder
	if !replaces && (a.since == 0 || c.New.Kind == Link) {
		return a.make(fd, name, c, known)
	}
	rename := disk.RenameNewAt
	if replaces {
		if err := a.unchanged(fd, c.Path, c.Old); err != nil {
			return err
		}
		rename = disk.RenameAt
	}
	temp := tempPrefix + disk.RandomHex(8)
	if err := a.make(fd, temp, c, known); err != nil {
		return err
	}
	err := rename(fd, temp, name)
	if err != nil {
		_ = unix.Unlinkat(fd, temp, 0) // else the next restore removes it
	}
	return err
}

// make creates a file or link, and removes it again if that fails midway.
func (a *applier) make(fd int, name string, c Change, known map[string]stamp) error {
	if c.New.Kind == Link {
		return disk.SymlinkAt(c.New.Target, fd, name)
	}
	file, err := disk.CreateAt(fd, name)
	if err != nil {
		return err
	}
	err = errors.Join(a.fill(file, c, known), disk.GiveAt(fd, path.Base(c.Path), int(file.Fd())))
	if err == nil {
		err = disk.Chmod(int(file.Fd()), c.New.Mode)
	}
	if err = errors.Join(err, file.Close()); err != nil {
		_ = unix.Unlinkat(fd, name, 0) // a partial file would pass for a restored one
	}
	return err
}

// fill writes a file's content, cloned from the workspace if the same content is still there, otherwise from the store.
// Blocks of zeros become holes.
func (a *applier) fill(file disk.File, c Change, known map[string]stamp) error {
	if s, ok := known[path.Base(c.Path)]; ok {
		if done, err := a.clones.clone(file, c.Path, *c.New, s); done || err != nil {
			return err
		}
	}
	at, hole := int64(0), false
	err := a.store.eachBlock(*c.New, func(id pack.ID, data []byte) (err error) {
		if hole = c.New.Kind == Blocks && id == zeroBlock(); !hole {
			_, err = file.WriteAt(data, at)
		}
		at += int64(len(data))
		return err
	})
	if err == nil && hole { // a hole at the end: nothing was written there
		err = file.Truncate(at)
	}
	return err
}

// treePath converts a folder's path to the form used in trees, where the root is "".
func treePath(folder string) string {
	if folder == "." {
		return ""
	}
	return folder
}

// setModes sets the final folder modes, deepest first.
func (a *applier) setModes() error {
	for _, folder := range slices.Backward(slices.Sorted(maps.Keys(a.modes))) {
		fd, err := disk.OpenBelow(a.root, folder, unix.O_RDONLY|unix.O_DIRECTORY)
		if errors.Is(err, unix.ENOENT) { // the folder was removed
			continue
		}
		if err == nil {
			err = disk.Chmod(fd, a.modes[folder])
			unix.Close(fd)
		}
		if err != nil {
			return fmt.Errorf("mode of %s: %w", oneline.Path(folder), err)
		}
	}
	return nil
}

// sync makes all changes durable, with one call for the file system where there is one, otherwise file by file.
func (a *applier) sync(changes []Change) error {
	if len(changes) == 0 || a.passing {
		return nil
	}
	if done, err := disk.SyncFileSystem(a.folder); done || err != nil {
		return err
	}
	folders := map[string]bool{".": true}
	for _, c := range changes {
		folders[path.Dir(c.Path)] = true
		if c.New == nil || c.New.Kind == Link || c.New.Kind == Folder {
			continue
		}
		if err := a.syncFile(c.Path); err != nil {
			return err
		}
	}
	for folder := range folders {
		if err := disk.SyncFolder(filepath.Join(a.folder, folder)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (a *applier) syncFile(p string) error {
	fd, err := disk.OpenBelow(a.root, p, unix.O_RDONLY)
	if err != nil {
		return fmt.Errorf("open %s: %w", oneline.Path(p), err)
	}
	f := disk.File{File: os.NewFile(uintptr(fd), p)}
	defer f.Close()
	return f.Sync()
}
