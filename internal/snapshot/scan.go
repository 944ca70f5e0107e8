package snapshot

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"pawl/internal/oneline"
	"pawl/internal/snapshot/ignore"
	"pawl/internal/snapshot/pack"
)

const (
	largeFile = 8 << 20 // larger files are stored in blocks, so that a change costs one block
	blockSize = 1 << 20
	readTries = 3                                                  // of a file that changes while it is read
	maxFile   = pack.MaxObject / int64(len(pack.ID{})) * blockSize // limited by the size of a block list
)

// scanFolder stats each name in the folder listed last, and reads the files that the stat cache cannot vouch for.
func (w *worker) scanFolder(f *folder, fd int) error {
	var known map[string]stamp
	if f.old != nil {
		known = make(map[string]stamp, len(w.names))
		for _, s := range f.old.stamps() {
			known[s.name] = s
		}
	}
	f.names = make([]stamp, 0, len(w.names))
	for i := range w.names {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		d := w.names[i]
		s := stamp{name: d.name}
		old, ok := known[d.name]
		if !ok {
			old.kind = 0
		}
		there, err := w.scanName(f, fd, d, &s, &old)
		if err != nil {
			return fmt.Errorf("%s: %w", oneline.Path(d.name), err)
		}
		if there {
			f.names = append(f.names, s)
		} else {
			f.stamp = folderStamp{} // it was listed
		}
	}
	w.noteFolder(f, slices.ContainsFunc(f.names, w.maySlip), slices.ContainsFunc(f.names, stamp.dependsOnIndex))
	return nil
}

// scanName fills the stamp of one name. It reports whether the name still exists.
func (w *worker) scanName(f *folder, fd int, d dirent, s, old *stamp) (there bool, err error) {
	var st unix.Stat_t
	switch err := unix.Fstatat(fd, d.name, &st, unix.AT_SYMLINK_NOFOLLOW); {
	case errors.Is(err, unix.ENOENT):
		return false, nil
	case isResourceError(err):
		return false, err
	case err != nil:
		w.skip(f, d, s, err.Error())
		return true, nil
	}
	kind := st.Mode & unix.S_IFMT
	path := join(f.path, d.name)
	if why := w.leavesOut(f, fd, d.name, kind == unix.S_IFDIR); why != "" {
		if s.tracked, err = w.tracked.covers(path, kind == unix.S_IFDIR); err != nil {
			return false, err
		}
		if !s.tracked {
			w.noteLeftOut(LeftOut{Path: path, Why: why}, old)
			w.skip(f, d, s, why)
			return true, nil
		}
	}
	switch kind {
	case unix.S_IFDIR:
		s.kind = byte(Folder)
		f.children = append(f.children, w.child(f, d.name))
	case unix.S_IFREG:
		w.noteLinks(f, &st)
		return w.scanFile(f, fd, d, s, old, &st)
	case unix.S_IFLNK:
		return w.scanLink(f, fd, d, s, &st)
	default:
		w.skip(f, d, s, special(uint32(kind)))
	}
	return true, nil
}

// ruleText returns the reason for leaving out an ignored name.
func ruleText(rules *ignore.Rules, name string, isDir bool) string {
	if reason, _ := rules.Explain(name, isDir); reason.File == ignore.DefaultsFile {
		return whySecret
	}
	return whyIgnored
}

// special returns the reason for leaving out a name that is not a file, folder or link.
func special(kind uint32) string {
	switch kind {
	case unix.S_IFSOCK:
		return whySocket
	case unix.S_IFIFO:
		return whyPipe
	case unix.S_IFBLK, unix.S_IFCHR:
		return whyDevice
	}
	return whyOther
}

// isSpecial reports whether a directory entry's type is such a kind.
func isSpecial(kind byte) bool {
	return kind == unix.DT_SOCK || kind == unix.DT_FIFO || kind == unix.DT_BLK || kind == unix.DT_CHR
}

// isResourceError reports whether this process ran out of descriptors or memory. The snapshot then fails, because
// everything after would be left out too.
func isResourceError(err error) bool {
	return errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) || errors.Is(err, unix.ENOMEM)
}

func (w *worker) skip(f *folder, d dirent, s *stamp, why string) {
	*s = stamp{kind: leftOutKind, name: d.name, mode: uint32(d.kind), text: why}
	w.leaveOut(join(f.path, d.name), why)
}

func (w *worker) scanLink(f *folder, fd int, d dirent, s *stamp, st *unix.Stat_t) (bool, error) {
	target, err := readLink(fd, d.name)
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.EINVAL): // gone, or no longer a link
		return false, nil
	case err != nil:
		w.skip(f, d, s, err.Error())
		return true, nil
	}
	s.set(st)
	s.kind, s.text = byte(Link), target
	return true, nil
}

func readLink(fd int, name string) (string, error) {
	buf := make([]byte, maxPath+1)
	n, err := unix.Readlinkat(fd, name, buf)
	return string(buf[:max(n, 0)]), err
}

// scanFile uses the stat cache's entry for the file, or reads the file.
func (w *worker) scanFile(f *folder, fd int, d dirent, s, old *stamp, st *unix.Stat_t) (bool, error) {
	if kind := Kind(old.kind); (kind == File || kind == Blocks) && old.matches(st) && w.old.settled(old.ctime) {
		has, err := f.intact, error(nil)
		if !has {
			has, err = w.hasContent(kind, old.id)
		}
		if err != nil {
			return false, err
		}
		if has {
			tracked := s.tracked
			*s = *old
			s.tracked = tracked
			return true, nil
		}
	}
	err := w.read(fd, s)
	var own storeError
	switch {
	case errors.As(err, &own):
		return false, own.error
	case isResourceError(err):
		return false, err
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ELOOP): // gone, or replaced by a link
		return false, nil
	case err != nil:
		w.skip(f, d, s, err.Error())
	}
	return true, nil
}

// hasContent reports whether the store certainly has all of a file's content.
func (w *walk) hasContent(kind Kind, id pack.ID) (bool, error) {
	has, err := w.batch.Has(id)
	if !has || err != nil || kind == File {
		return has, err
	}
	return false, nil // some blocks of a large file may be missing; reading the file again checks each
}

// storeError is an error of the store, not of the file being read.
type storeError struct{ error }

// read reads a file until it does not change during the read, readTries times at most. A file that keeps changing is
// stored as read last; its ctime is newer than this walk, so the next walk reads it again.
func (w *worker) read(fd int, s *stamp) error {
	file, err := openFile(fd, s.name)
	if err != nil {
		return err
	}
	defer file.Close()
	for try := 1; ; try++ {
		var before, after unix.Stat_t
		if err := unix.Fstat(int(file), &before); err != nil {
			return err
		}
		if before.Mode&unix.S_IFMT != unix.S_IFREG {
			return unix.ENOENT // replaced by something else since it was listed
		}
		if before.Size > maxFile {
			return errors.New(whyTooBig)
		}
		s.set(&before)
		if err := w.store(file, s); err != nil {
			return err
		}
		if err := unix.Fstat(int(file), &after); err != nil {
			return err
		}
		if s.matches(&after) || try == readTries {
			return nil
		}
	}
}

// openFile opens a file without following a link and without blocking on a named pipe.
func openFile(fd int, name string) (openedFile, error) {
	for {
		file, err := unix.Openat(fd, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err != unix.EINTR {
			return openedFile(file), err
		}
	}
}

// openedFile is the descriptor of a file. An os.File costs two more system calls.
type openedFile int

// Close closes the descriptor.
func (f openedFile) Close() error { return unix.Close(int(f)) }

// ReadAt reads until buf is full or the file ends, as io.ReaderAt says.
func (f openedFile) ReadAt(buf []byte, from int64) (n int, err error) {
	for n < len(buf) {
		more, err := unix.Pread(int(f), buf[n:], from+int64(n))
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return n, err
		case more == 0:
			return n, io.EOF
		}
		n += more
	}
	return n, nil
}

// store adds a file's content to the batch and records kind, ID and the size that was read.
func (w *worker) store(f openedFile, s *stamp) (err error) {
	w.noteRead(s.size)
	if s.size > largeFile {
		s.kind = byte(Blocks)
		s.id, s.size, err = w.storeBlocks(f, s.size)
		return err
	}
	if need := int(s.size) + 1; cap(w.file) < need {
		w.file = make([]byte, max(need, 64<<10))
	}
	n, err := f.ReadAt(w.file[:s.size], 0)
	if err != nil && err != io.EOF { // the file shrank: read sees that
		return err
	}
	s.kind, s.size = byte(File), int64(n)
	s.id, err = w.put(w.file[:n])
	return err
}

// put adds content to the batch, unless the batch alone exceeds the quota.
func (w *walk) put(content []byte) (pack.ID, error) {
	id, err := w.batch.Put(content)
	if err != nil {
		return id, storeError{err}
	}
	if _, added := w.batch.Added(); added > w.limit {
		return id, storeError{fmt.Errorf("the snapshot alone exceeds %d MiB: %w", w.limit>>20, ErrQuota)}
	}
	return id, nil
}

// storeBlocks adds a large file block by block, and then its list of blocks. It returns the number of bytes read, which
// is less than size if the file shrank.
func (w *worker) storeBlocks(f openedFile, size int64) (pack.ID, int64, error) {
	ids := make([]pack.ID, (size+blockSize-1)/blockSize)
	file := largeReader{walk: w.walk, file: f, size: size, ids: ids}
	var readers sync.WaitGroup
	faults := make(chan error, min(runtime.GOMAXPROCS(0), 4)) // each holds one block in memory
	for range cap(faults) {
		readers.Go(func() { faults <- file.readBlocks() })
	}
	readers.Wait()
	close(faults)
	for err := range faults {
		if err != nil {
			return pack.ID{}, 0, err
		}
	}
	list := make([]byte, 0, len(ids)*len(pack.ID{}))
	for _, id := range ids {
		list = append(list, id[:]...)
	}
	id, err := w.put(list)
	return id, file.read.Load(), err
}

// largeReader reads a large file in several goroutines.
type largeReader struct {
	*walk
	file openedFile
	size int64
	ids  []pack.ID
	next atomic.Int64 // block
	read atomic.Int64 // bytes
}

// readBlocks reads blocks until none is left.
func (r *largeReader) readBlocks() error {
	buf := make([]byte, blockSize)
	for {
		i := r.next.Add(1) - 1
		if i >= int64(len(r.ids)) {
			return nil
		}
		if err := r.ctx.Err(); err != nil {
			return storeError{err}
		}
		if err := r.block(i, buf); err != nil {
			return err
		}
	}
}

func (r *largeReader) block(i int64, buf []byte) (err error) {
	from := i * blockSize
	if from+blockSize <= r.size && isHole(r.file, from) {
		r.read.Add(blockSize)
		r.ids[i], err = r.putZeros()
		return err
	}
	n, err := r.file.ReadAt(buf, from)
	if err != nil && err != io.EOF {
		return err
	}
	r.read.Add(int64(n))
	r.ids[i], err = r.put(buf[:n])
	return err
}

// isHole reports whether the block at from is entirely a hole.
func isHole(f openedFile, from int64) bool {
	data, err := unix.Seek(int(f), from, unix.SEEK_DATA)
	return err == unix.ENXIO || err == nil && data >= from+blockSize
}

// zeroBlock is the ID of a block of zeros, as which a hole reads.
var zeroBlock = sync.OnceValue(func() pack.ID { return pack.IDOf(make([]byte, blockSize)) })

// putZeros adds the block of zeros, once per walk.
func (w *walk) putZeros() (pack.ID, error) {
	w.zeros.Do(func() { _, w.zeroErr = w.put(make([]byte, blockSize)) })
	return zeroBlock(), w.zeroErr
}

// readAll reads a small file; the result is non-nil even if the file is empty.
func readAll(f *os.File) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(f, maxPatterns))
	if data == nil {
		data = []byte{}
	}
	return data, err
}
