// Package pack stores objects, named by the SHA-256 of their content, and commit records in one folder. It does not
// interpret them; package snapshot does.
//
// When Commit has returned, the commit and every object that its batch put or found survives a power failure. Any
// number of processes may read and commit concurrently, and no object disappears during a batch. A crash leaves a
// complete commit or none. Every read verifies the content's hash. Damage is never repaired by guessing: it is an error
// that names file and offset. Prune and Repair wait for exclusive access.
//
//	pack-<n>     segments of objects and records (segment.go)
//	dead         which entries of the packs were pruned (dead.go)
//	index        a cache of the locations of objects and records (index.go)
//	lock         shared by batches and holds; exclusive for Prune and Repair
//	commit.lock  held during a commit; marks an unfinished one
//	temp-*       packs being written; left by a crash if no process holds lock
//	quarantine/  damaged bytes that Repair found
package pack

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"pawl/internal/disk"
)

const (
	lockName = "lock"
	// A refresh that would read more bytes than this tries a newer index first.
	reloadThreshold = 4 << 20
)

// Store is an open store. Its methods may be called concurrently.
type Store struct {
	dir      string
	limits   limits
	readOnly bool

	mu   sync.RWMutex // guards view; taken after the commit lock
	view *view        // nil: closed
}

// limits are smaller in tests.
type limits struct {
	memory int   // size at which a batch starts to write to files
	flush  int   // bytes that are written at once then
	pack   int64 // size at which a new pack is started
	index  int64 // unindexed bytes that make a new index due
	tail   int   // unindexed objects that make a new index due
	small  int64 // packs smaller than this are merged by Prune
}

// Open opens the store in dir, and creates it if it is missing. It waits for no lock. If the dead list is damaged,
// every method except Check and Repair fails.
func Open(ctx context.Context, dir string) (*Store, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := disk.MakeFolders(dir); err != nil {
		return nil, fmt.Errorf("open snapshots: %w", err)
	}
	view, err := load(dir, true)
	if err != nil {
		return nil, fmt.Errorf("open snapshots: %w", err)
	}
	return &Store{dir: dir, view: view, limits: limits{memory: 8 << 20, flush: 2 << 20, pack: 64 << 20, index: 2 << 20, tail: 2048, small: 1 << 20}}, nil
}

// OpenReadOnly opens the store in dir, which may be missing, without ever changing anything there. Its batches keep only the ids and sizes of what they
// are given, and cannot be committed.
func OpenReadOnly(ctx context.Context, dir string) (*Store, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	view, err := load(dir, true)
	if err != nil {
		return nil, fmt.Errorf("open snapshots: %w", err)
	}
	return &Store{dir: dir, view: view, readOnly: true}, nil
}

// Close closes the store. Batches and holds must be ended before.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.view == nil {
		return nil
	}
	err := s.view.close()
	s.view = nil
	return err
}

// Generation returns a number that changes whenever objects are removed or lost. An open Hold or Batch keeps it as it is.
func (s *Store) Generation() (uint64, error) { return readGeneration(s.dir) }

// Has reports whether the store has the object. It may be pruned right after, unless a Hold or Batch is open.
func (s *Store) Has(id ID) (bool, error) {
	has, err := s.has(id)
	if has || err != nil {
		return has, err
	}
	if err := s.refresh(); err != nil {
		return false, err
	}
	return s.has(id)
}

// has looks in the view, without a refresh.
func (s *Store) has(id ID) (bool, error) {
	has, err := s.inView(id)
	if errors.Is(err, errIndex) {
		if err := s.dropIndex(); err != nil {
			return false, err
		}
		return s.inView(id)
	}
	return has, err
}

func (s *Store) inView(id ID) (bool, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.usable(); err != nil {
		return false, err
	}
	_, ok, err := s.view.find(id)
	return ok, err
}

// Stored returns an object's size in its pack, or a *MissingError.
func (s *Store) Stored(id ID) (int64, error) {
	has, err := s.Has(id)
	if err != nil {
		return 0, err
	}
	if !has {
		return 0, &MissingError{ID: id}
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	at, _, err := s.view.find(id)
	return int64(at.size), err
}

// Get returns an object's content after verifying its hash. It returns a *DamagedError or *MissingError if there is
// none. Other processes may commit and prune meanwhile; see Hold.
func (s *Store) Get(id ID) (content []byte, err error) {
	err = s.read(id, func(_ fetched, _, verified []byte) { content = verified })
	return content, err
}

// read calls use with an object, its stored bytes and its content, unless there is an error like that of Get.
func (s *Store) read(id ID, use func(e fetched, stored, content []byte)) error {
	err := s.readOnce(id, use)
	for _, again := range []func() error{s.refresh, s.dropIndex} { // the view may be outdated, or its index damaged
		if err == nil || errors.Is(err, errClosed) {
			break
		}
		if err := again(); err != nil {
			return err
		}
		_, damaged := errors.AsType[*DamagedError](err)
		if now := s.readOnce(id, use); !damaged || !isMissing(now) { // "damaged" is more useful than "missing"
			err = now
		}
	}
	return err
}

func isMissing(err error) bool {
	_, missing := errors.AsType[*MissingError](err)
	return missing
}

// readOnce reads an object from its location in the view.
func (s *Store) readOnce(id ID, use func(e fetched, stored, content []byte)) error {
	e, stored, err := s.fetch(id)
	if err != nil {
		return err
	}
	content, err := e.unpack(stored)
	if err != nil {
		return s.damaged(id, e.in(e.pack), err)
	}
	use(e, stored, content)
	return nil
}

// fetched is an entry read from a pack.
type fetched struct {
	entry
	pack uint32
}

func (s *Store) fetch(id ID) (fetched, []byte, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.usable(); err != nil {
		return fetched{}, nil, err
	}
	at, ok, err := s.view.find(id)
	if err != nil {
		return fetched{}, nil, err
	}
	if !ok {
		if damage := s.view.bad[id]; damage != nil {
			return fetched{}, nil, damage
		}
		return fetched{}, nil, &MissingError{ID: id}
	}
	e, stored, err := s.view.entry(at)
	if err == nil && (e.id != id || e.kind == kindCommit) {
		err = errors.New("the index points to another entry")
	}
	if err != nil {
		return fetched{}, nil, s.damaged(id, at, err)
	}
	return fetched{entry: e, pack: at.pack}, stored, nil
}

func (s *Store) damaged(id ID, at location, why error) error {
	return &DamagedError{ID: id, File: filepath.Join(s.dir, packName(at.pack)), Offset: int64(at.offset), Why: why.Error()}
}

// entry reads the entry at a location, with its stored bytes.
func (v *view) entry(at location) (entry, []byte, error) {
	p := v.packs[at.pack]
	if p == nil {
		return entry{}, nil, errors.New("the pack is missing")
	}
	if int64(at.offset)+int64(at.size) > p.size {
		return entry{}, nil, errors.New("the pack is truncated before it")
	}
	buf := make([]byte, at.size)
	if _, err := p.file.ReadAt(buf, int64(at.offset)); err != nil {
		return entry{}, nil, err
	}
	e, ok := parseEntry(buf, int64(at.offset))
	switch {
	case !ok || e.size() != int64(at.size):
		return entry{}, nil, errors.New("entry header expected")
	case checksum(buf[entryHeader:]) != e.sum:
		return entry{}, nil, errors.New("checksum mismatch")
	}
	return e, buf[entryHeader:], nil
}

// refresh reads what others have added since the last refresh.
func (s *Store) refresh() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refreshLocked()
}

// refreshLocked is refresh with s.mu held.
func (s *Store) refreshLocked() error {
	if err := s.usable(); errors.Is(err, errClosed) {
		return err
	}
	old, err := s.view.update()
	if err == nil && old {
		err = s.reload(true)
	}
	return errors.Join(err, s.usable())
}

// usable returns why the view must not be used, or nil. The caller holds s.mu.
func (s *Store) usable() error {
	if s.view == nil {
		return errClosed
	}
	return s.view.dead.damaged
}

// update reads what was added. It returns true if the view is outdated and must be loaded again.
func (v *view) update() (old bool, err error) {
	generation, err := readGeneration(v.dir)
	if err != nil || generation != v.dead.generation {
		return true, err
	}
	numbers, err := listPacks(v.dir)
	if err != nil {
		return false, err
	}
	for number := range v.packs {
		if !slices.Contains(numbers, number) {
			return true, nil
		}
	}
	for _, number := range numbers {
		if v.packs[number] != nil {
			continue
		}
		if err := v.open(number); errors.Is(err, fs.ErrNotExist) {
			return true, nil
		} else if err != nil {
			return false, err
		}
	}
	if v.indexBehind() {
		return true, nil
	}
	return false, v.readAppended()
}

// indexBehind reports whether much was added and a newer index exists.
func (v *view) indexBehind() bool {
	var more int64
	for _, p := range v.packs {
		if size, err := p.length(); err == nil {
			more += size - p.size
		}
	}
	if more < reloadThreshold {
		return false
	}
	info, err := disk.Lstat(filepath.Join(v.dir, indexName))
	return err == nil && (v.index == nil || !os.SameFile(info, v.index.info))
}

// reload loads the view again. The caller holds s.mu.
func (s *Store) reload(useIndex bool) error {
	view, err := load(s.dir, useIndex)
	if err != nil {
		return err
	}
	_ = s.view.close() // read-only: nothing can be lost
	s.view = view
	return nil
}

// dropIndex loads the view again from the packs alone, unless it was loaded that way.
func (s *Store) dropIndex() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.view == nil {
		return errClosed
	}
	if s.view.index == nil {
		return nil
	}
	return s.reload(false)
}

// Size returns the size of the folder, without quarantine, in bytes.
func (s *Store) Size() (int64, error) {
	entries, err := disk.ReadDir(s.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("size of snapshots: %w", err)
	}
	var size int64
	for _, entry := range entries {
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) || err == nil && info.IsDir() {
			continue
		}
		if err != nil {
			return 0, fmt.Errorf("size of snapshots: %w", err)
		}
		size += info.Size()
	}
	return size, nil
}

// Hold keeps every object in the store until release is called or the process ends. Prune and Repair wait for that.
// Hold waits for them, until ctx ends.
func (s *Store) Hold(ctx context.Context) (release func() error, err error) {
	l, err := s.hold(ctx)
	if err != nil {
		return nil, fmt.Errorf("hold snapshots: %w", err)
	}
	return sync.OnceValue(l.release), nil
}

func (s *Store) hold(ctx context.Context) (*lock, error) {
	l, err := s.acquireShared(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.refresh(); err != nil {
		return nil, errors.Join(err, l.release())
	}
	return l, nil
}

// Commit is a commit record. ID is the hash of its content.
type Commit struct {
	ID      ID
	Content []byte
}

// Commits returns all commit records, oldest first, including those of other processes. If one is unreadable, it
// returns an error together with the others.
func (s *Store) Commits() ([]Commit, error) {
	if err := s.refresh(); err != nil {
		return nil, fmt.Errorf("list commits: %w", err)
	}
	commits, err := s.commits()
	if err != nil {
		if err := s.dropIndex(); err != nil {
			return nil, fmt.Errorf("list commits: %w", err)
		}
		commits, err = s.commits()
	}
	return commits, err
}

// Commit returns the record of a commit, or a *MissingError. It reads the newest ones first, and none before that one.
func (s *Store) Commit(id ID) ([]byte, error) {
	if err := s.refresh(); err != nil {
		return nil, fmt.Errorf("find commit %s: %w", id, err)
	}
	content, err := s.commit(id)
	if err != nil {
		if err := s.dropIndex(); err != nil {
			return nil, fmt.Errorf("find commit %s: %w", id, err)
		}
		content, err = s.commit(id)
	}
	return content, err
}

func (s *Store) commit(id ID) ([]byte, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	records, err := s.records()
	if err != nil {
		return nil, err
	}
	for _, r := range slices.Backward(records) {
		if e, content, err := s.view.entry(r.location); err == nil && e.id == id && e.kind == kindCommit && IDOf(content) == id {
			return content, nil
		}
	}
	return nil, &MissingError{ID: id}
}

// records returns where the commit records are, the oldest first. The caller holds the lock.
func (s *Store) records() ([]recordLocation, error) {
	if err := s.usable(); err != nil {
		return nil, err
	}
	return s.view.commits()
}

func (s *Store) commits() ([]Commit, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	records, err := s.records()
	if err != nil {
		return nil, err
	}
	var commits []Commit
	var errs []error
	seen := map[ID]bool{}
	for _, r := range records {
		e, content, err := s.view.entry(r.location)
		if err == nil && (e.kind != kindCommit || IDOf(content) != e.id) {
			err = errors.New("commit record expected")
		}
		if err != nil {
			errs = append(errs, s.damaged(e.id, r.location, err))
			continue
		}
		if !seen[e.id] {
			commits = append(commits, Commit{ID: e.id, Content: content})
		}
		seen[e.id] = true
	}
	return commits, errors.Join(errs...)
}
