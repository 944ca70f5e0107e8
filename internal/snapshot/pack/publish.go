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

// The commit lock's file holds one byte: whether a commit has begun and not ended. Who finds such a mark cannot know
// whether what it sees was ever synced, and makes it durable before building on it.
const (
	begun = 'b'
	ended = 'e'
)

// errTakenBack means that nothing was added.
var errTakenBack = errors.New("nothing was written")

// publish adds what w holds to the store: at the newest pack's end with one sync, or as new packs. Those in
// avoid are about to be removed: it does not add to them, and leaves the index to be made when they are gone.
func (s *Store) publish(ctx context.Context, w *writer, avoid map[uint32]bool) error {
	if len(w.drafts) > 0 {
		if err := w.seal(); err != nil { // without the lock: it may take long
			return err
		}
	}
	return s.committing(ctx, func(mark disk.File) error { return s.publishAlone(mark, w, avoid) })
}

// committing calls do under the commit lock, whose file holds the mark.
func (s *Store) committing(ctx context.Context, do func(mark disk.File) error) error {
	l, err := acquire(ctx, filepath.Join(s.dir, commitLockName), unix.LOCK_EX)
	if err != nil {
		return err
	}
	return errors.Join(do(disk.File{File: l.file}), l.release())
}

// publishAlone is publish under the commit lock.
func (s *Store) publishAlone(mark disk.File, w *writer, avoid map[uint32]bool) error {
	if err := s.settle(mark); err != nil {
		return err
	}
	if _, err := mark.WriteAt([]byte{begun}, 0); err != nil {
		return err
	}
	err := s.put(w, avoid)
	if err == nil || errors.Is(err, errTakenBack) {
		_, _ = mark.WriteAt([]byte{ended}, 0) // where it fails, the next one syncs once more than needed
	}
	if err != nil {
		return err
	}
	if avoid == nil && s.grown() {
		return s.saveNewIndex(mark)
	}
	return nil
}

// grown reports whether much was added since the index was made.
func (s *Store) grown() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.view != nil && (s.view.unindexed() > s.limits.index || len(s.view.tail) > s.limits.tail)
}

// settle takes in what others have done, and makes it durable where one of them was cut off.
func (s *Store) settle(mark disk.File) error {
	if err := s.refresh(); err != nil {
		return err
	}
	var state [1]byte
	if n, err := mark.ReadAt(state[:], 0); n == 0 && errors.Is(err, io.EOF) || n == 1 && state[0] == ended {
		return nil
	}
	if err := s.heal(); err != nil {
		return err
	}
	_, err := mark.WriteAt([]byte{ended}, 0)
	return err
}

// heal makes all that can be seen durable, under the commit lock.
//
// After a failed sync the kernel holds the pages for clean although they never reached the disk, and no later sync
// writes them. So the same bytes are written again. Only the newest pack can be meant, and nothing that the index
// covers: new packs are synced before they get their names, and the index is made when no commit is cut off.
func (s *Store) heal() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.look(); err != nil {
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
		return errors.Join(fmt.Errorf("%s: what a commit left unsynced at byte %d is gone: begin again", packName(p.number), found.end), s.reload(true))
	}
	return rewrite(p)
}

// rewrite writes what the index does not cover once more, and syncs it.
func rewrite(p *packFile) error {
	file, err := disk.Create(p.file.Name())
	if err != nil {
		return err
	}
	defer file.Close()
	buf := make([]byte, min(chunk, p.end-p.covered))
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

// put adds what w holds, durably.
func (s *Store) put(w *writer, avoid map[uint32]bool) error {
	if p, at, key := s.room(w, avoid); p != nil {
		return s.appendTo(p, w, at, key)
	}
	if len(w.drafts) == 0 {
		err := w.spill()
		if err == nil {
			err = w.seal()
		}
		if err != nil {
			return errors.Join(errTakenBack, err)
		}
	}
	for _, d := range w.drafts {
		if err := s.name(d); err != nil {
			return err
		}
	}
	return nil
}

// room returns the pack at whose end w's segment can stand, with that offset and the pack's key; nil where it needs a
// new one. Behind a torn tail nothing is written: the tail would no longer be known for one.
func (s *Store) room(w *writer, avoid map[uint32]bool) (p *packFile, at int64, key uint64) {
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

// appendTo writes w's segment to the end of a pack.
func (s *Store) appendTo(p *packFile, w *writer, at int64, key uint64) error {
	file, err := disk.Create(p.file.Name())
	if err != nil {
		return errors.Join(errTakenBack, err)
	}
	defer file.Close()
	buf := w.segment(key, at)
	if _, err := file.WriteAt(buf, at); err != nil {
		if worse := file.Truncate(at); worse != nil {
			return errors.Join(err, worse) // a torn tail
		}
		return errors.Join(errTakenBack, err)
	}
	if err := file.Sync(); err != nil {
		err = fmt.Errorf("sync %s: %w", file.Name(), err)
		if again := s.heal(); again != nil { // others may have seen it by now: it cannot be taken back
			return errors.Join(err, again)
		}
	}
	s.adopt(p, w.within, at, at+int64(len(buf)))
	return nil
}

// name makes a draft the newest pack. The new name is durable.
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
		return nil // the next look finds it
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

// adopt takes entries in that this process has just written, from one offset to another.
func (v *view) adopt(p *packFile, entries []entry, from, to int64) {
	if p.end != from {
		return // another goroutine has already looked
	}
	for _, e := range entries {
		e.offset += from
		v.add(p.number, e)
	}
	p.end, p.size = to, to
}

// saveNewIndex makes the index anew, under the commit lock, when all is durable. That it cannot be written is no error:
// it is a cache.
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
		_ = s.reload(true) // else what is known stays as it is
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

// commits returns where the commit records stand, the oldest first.
func (v *view) commits() ([]record, error) {
	records, err := v.index.commits()
	if err != nil {
		return nil, err
	}
	records = append(records, v.records...)
	slices.SortStableFunc(records, func(a, b record) int { return cmp.Compare(a.born, b.born) })
	return records, nil
}
