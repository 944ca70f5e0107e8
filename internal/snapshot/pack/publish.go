package pack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"pawl/internal/disk"
)

const commitLockName = "commit.lock"

// The file of the commit lock holds one byte: whether a commit is unfinished. A process that finds the mark of an
// interrupted commit cannot know which bytes were synced, so it syncs everything it sees before building on it.
const (
	begun = 'b'
	ended = 'e'
)

// errNothingWritten means that the store is unchanged.
var errNothingWritten = errors.New("nothing was written")

// publish adds the entries of w to the store: appended to the newest pack with one sync, or as new packs. It does not
// append to packs in avoid, which are about to be removed. With avoid set, it leaves writing the index to the caller.
func (s *Store) publish(ctx context.Context, w *packWriter, avoid map[uint32]bool) error {
	if len(w.drafts) > 0 {
		if err := w.seal(); err != nil { // before taking the lock: this may take long
			return err
		}
	}
	return s.withCommitLock(ctx, func(mark disk.File) error { return s.publishLocked(mark, w, avoid) })
}

// withCommitLock calls do under the commit lock, with the file that holds the mark.
func (s *Store) withCommitLock(ctx context.Context, do func(mark disk.File) error) error {
	l, err := acquire(ctx, filepath.Join(s.dir, commitLockName), unix.LOCK_EX)
	if err != nil {
		return err
	}
	return errors.Join(do(disk.File{File: l.file}), l.release())
}

// publishLocked is publish under the commit lock.
func (s *Store) publishLocked(mark disk.File, w *packWriter, avoid map[uint32]bool) error {
	if err := s.catchUp(mark); err != nil {
		return err
	}
	if _, err := mark.WriteAt([]byte{begun}, 0); err != nil {
		return err
	}
	err := s.put(w, avoid)
	if err == nil || errors.Is(err, errNothingWritten) {
		_, _ = mark.WriteAt([]byte{ended}, 0) // if this fails, the next commit only syncs once more than needed
	}
	if err != nil {
		return err
	}
	if avoid == nil && s.indexStale() {
		return s.saveNewIndex(mark)
	}
	return nil
}

// indexStale reports whether so much was added since the last index that a new one is due.
func (s *Store) indexStale() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.view != nil && (s.view.unindexed() > s.limits.index || len(s.view.tail) > s.limits.tail)
}

// catchUp reads what others have committed, and makes it durable after an interrupted commit.
func (s *Store) catchUp(mark disk.File) error {
	if err := s.refresh(); err != nil {
		return err
	}
	var state [1]byte
	if n, err := mark.ReadAt(state[:], 0); n == 0 && errors.Is(err, io.EOF) || n == 1 && state[0] == ended {
		return nil
	}
	if err := s.makeDurable(); err != nil {
		return err
	}
	_, err := mark.WriteAt([]byte{ended}, 0)
	return err
}

// makeDurable makes everything visible durable. The caller holds the commit lock.
//
// After a failed fsync the kernel may mark the pages clean although they never reached the disk, so that no later fsync
// writes them. makeDurable therefore writes the same bytes again. Only the unindexed end of the newest pack can be
// affected: new packs are synced before they are renamed, and the index is written only when no commit is unfinished.
func (s *Store) makeDurable() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.refreshLocked(); err != nil {
		return err
	}
	if err := disk.SyncFolder(s.dir); err != nil {
		return err
	}
	p := s.view.newest()
	if p == nil || p.covered == p.end {
		return nil
	}
	found, _, err := p.scan(p.covered, s.view.known[p.number])
	if err != nil {
		return err
	}
	if found.end != p.end {
		return errors.Join(fmt.Errorf("%s: an interrupted commit lost its bytes from %d on: retry", packName(p.number), found.end), s.reload(true))
	}
	return rewrite(p)
}

// rewrite writes the unindexed end of a pack again and syncs it.
func rewrite(p *packFile) error {
	file, err := disk.Create(p.file.Name())
	if err != nil {
		return err
	}
	defer file.Close()
	buf := make([]byte, min(1<<20, p.end-p.covered))
	for at := p.covered; at < p.end; at += int64(len(buf)) {
		buf = buf[:min(int64(len(buf)), p.end-at)]
		if _, err := p.file.ReadAt(buf, at); err != nil {
			return err
		}
		if _, err := file.WriteAt(buf, at); err != nil {
			return err
		}
	}
	if err := file.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", file.Name(), err)
	}
	return nil
}

// put durably adds the entries of w.
func (s *Store) put(w *packWriter, avoid map[uint32]bool) error {
	if p, at, key := s.appendTarget(w, avoid); p != nil {
		return s.appendTo(p, w, at, key)
	}
	if len(w.drafts) == 0 {
		err := w.spill()
		if err == nil {
			err = w.seal()
		}
		if err != nil {
			return errors.Join(errNothingWritten, err)
		}
	}
	for _, d := range w.drafts {
		if err := s.name(d); err != nil {
			return err
		}
	}
	return nil
}

// appendTarget returns the pack to which the segment of w can be appended, with the offset and the pack's key. It
// returns nil if a new pack is needed. It never appends after a torn tail, which could then no longer be recognized as
// one.
func (s *Store) appendTarget(w *packWriter, avoid map[uint32]bool) (p *packFile, at int64, key uint64) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.view == nil {
		return nil, 0, 0
	}
	p = s.view.newest()
	if len(w.drafts) > 0 || p == nil || avoid[p.number] || p.end != p.size || p.end+int64(len(w.buf)) > s.limits.pack {
		return nil, 0, 0
	}
	var head [segmentHeader]byte
	if _, err := p.file.ReadAt(head[:], 0); err != nil {
		return nil, 0, 0
	}
	first, ok := parseSegment(head[:], 0)
	if !ok {
		return nil, 0, 0
	}
	return p, p.end, first.key
}

// appendTo appends the segment of w to a pack.
func (s *Store) appendTo(p *packFile, w *packWriter, at int64, key uint64) error {
	file, err := disk.Create(p.file.Name())
	if err != nil {
		return errors.Join(errNothingWritten, err)
	}
	defer file.Close()
	buf := w.segment(key, at)
	if _, err := file.WriteAt(buf, at); err != nil {
		if worse := file.Truncate(at); worse != nil {
			return errors.Join(err, worse) // leaves a torn tail
		}
		return errors.Join(errNothingWritten, err)
	}
	if err := file.Sync(); err != nil {
		err = fmt.Errorf("sync %s: %w", file.Name(), err)
		if again := s.makeDurable(); again != nil { // others may have read it already, so it cannot be truncated
			return errors.Join(err, again)
		}
	}
	s.adopt(p, w.within, at, at+int64(len(buf)))
	return nil
}

// name durably renames a draft to be the newest pack.
func (s *Store) name(d *draft) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(); err != nil {
		return err
	}
	number := s.view.next()
	if err := disk.Rename(d.file.Name(), filepath.Join(s.dir, packName(number))); err != nil {
		return err
	}
	d.named = true
	if err := s.view.open(number); err != nil {
		return nil // the next refresh finds it
	}
	s.view.adopt(s.view.packs[number], d.entries, 0, d.size)
	return nil
}

func (s *Store) adopt(p *packFile, entries []entry, from, to int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.view != nil && s.view.packs[p.number] == p {
		s.view.adopt(p, entries, from, to)
	}
}

// adopt adds entries that this process has just written between two offsets.
func (v *view) adopt(p *packFile, entries []entry, from, to int64) {
	if p.end != from {
		return // another goroutine has already refreshed
	}
	for _, e := range entries {
		e.offset += from
		v.add(p.number, e)
	}
	p.end, p.size = to, to
}

// saveNewIndex writes a new index. The caller holds the commit lock, and everything is durable. Errors are ignored, for
// the index is a cache.
func (s *Store) saveNewIndex(disk.File) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.usable() != nil {
		return nil
	}
	err := s.view.saveIndex()
	if errors.Is(err, errIndex) && s.reload(false) == nil {
		err = s.view.saveIndex()
	}
	if err == nil {
		_ = s.reload(true) // on error the old view stays valid
	}
	return nil
}

func (v *view) saveIndex() error {
	old, err := v.index.all()
	if err != nil {
		return err
	}
	records, err := v.commits()
	if err != nil {
		return err
	}
	covered := map[uint32]int64{}
	for _, p := range v.packs {
		covered[p.number] = p.end
	}
	return writeIndex(v.dir, v.dead.generation, covered, merge(old, sorted(v.tail)), records)
}

// commits returns the locations of all commit records, oldest first.
func (v *view) commits() ([]recordLocation, error) {
	records, err := v.index.commits()
	if err != nil {
		return nil, err
	}
	records = append(records, v.records...)
	slices.SortStableFunc(records, func(a, b recordLocation) int { return cmp.Compare(a.born, b.born) })
	return records, nil
}
