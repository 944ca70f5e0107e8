// Package pack keeps objects, named by the SHA-256 of their content, and commit records in one folder. It knows
// nothing of what they mean; package snapshot does.
//
// It promises that a commit, and every object that its batch put or found, survives a power cut once Commit has
// returned; that any number of processes may read and commit at a time, and no object vanishes under a batch; that
// whatever death leaves behind is either a whole commit or nothing of it that anybody believes; and that content is
// checked by its hash whenever it is read. It refuses to guess: what is not as it was written is an error that names
// file and offset. Prune and Repair wait until nobody else is at work, and then keep everybody out.
//
//	pack-<n>     the truth: segments of objects and records (segment.go)
//	dead         which entries of the packs were pruned (dead.go)
//	index        a cache: where everything is (index.go)
//	lock         shared by those who build on what they found; exclusive to Prune and Repair
//	commit.lock  held for the moment of a commit; holds the mark of one that was cut off
//	temp-*       packs that are being written; of the dead once nobody holds lock
//	quarantine/  what Repair found damaged
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

	"golang.org/x/sys/unix"

	"pawl/internal/disk"
)

const (
	lockName = "lock"
	// A look at the folder that would read more than this tries the index first.
	much = 4 << 20
)

// Store is an open store. It may be used by many goroutines.
type Store struct {
	dir    string
	limits limits

	mu   sync.RWMutex // guards view, and is taken after the commit lock
	view *view        // nil: closed
}

// limits are smaller in tests.
type limits struct {
	memory int   // how large a batch may be before it goes to files of its own
	pack   int64 // at which size a new pack is begun
	index  int64 // how much may be added before the index is made anew
	tail   int   // and how many objects
	small  int64 // smaller packs are joined to others by a prune
}

// Open opens the store in dir, which is made where it is missing. It waits for nobody. Where the
// list of what was pruned is damaged, everything but Check and Repair fails.
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
	return &Store{dir: dir, view: view, limits: limits{memory: 8 << 20, pack: 64 << 20, index: 2 << 20, tail: 8192, small: 1 << 20}}, nil
}

// Close gives back the files. Batches and holds are to be ended before.
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

// Has reports whether an object is in the store, now or as of a moment ago: others may have committed since. It may be
// pruned the next moment unless a Hold or a Batch is open.
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

// has answers from what is known.
func (s *Store) has(id ID) (bool, error) {
	has, err := s.known(id)
	if errors.Is(err, errIndex) {
		if err := s.rebuild(); err != nil {
			return false, err
		}
		return s.known(id)
	}
	return has, err
}

func (s *Store) known(id ID) (bool, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.usable(); err != nil {
		return false, err
	}
	_, ok, err := s.view.find(id)
	return ok, err
}

// Stored returns how many bytes an object takes in its pack; a *MissingError says that it is in none.
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

// Get returns an object's content, which has the hash that it is named by: else the error is a *DamagedError, or a
// *MissingError for what is not there. Other processes may commit and prune meanwhile; see Hold.
func (s *Store) Get(id ID) ([]byte, error) {
	content, err := s.get(id)
	for _, again := range []func() error{s.refresh, s.rebuild} { // what is known may be old, or the index no good
		if err == nil || errors.Is(err, errClosed) {
			break
		}
		if err := again(); err != nil {
			return nil, err
		}
		_, damaged := errors.AsType[*DamagedError](err)
		var now error
		if content, now = s.get(id); !damaged || !isMissing(now) { // where it stood says more than that it is gone
			err = now
		}
	}
	return content, err
}

func isMissing(err error) bool {
	_, missing := errors.AsType[*MissingError](err)
	return missing
}

// get reads an object from where it is known to stand.
func (s *Store) get(id ID) ([]byte, error) {
	e, stored, err := s.fetch(id)
	if err != nil {
		return nil, err
	}
	content, err := e.unpack(stored)
	if err != nil {
		return nil, s.damaged(id, e.in(e.pack), err)
	}
	return content, nil
}

// fetched is an entry that was read from a pack.
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
		err = errors.New("another entry stands here")
	}
	if err != nil {
		return fetched{}, nil, s.damaged(id, at, err)
	}
	return fetched{entry: e, pack: at.pack}, stored, nil
}

func (s *Store) damaged(id ID, at place, why error) error {
	return &DamagedError{ID: id, File: filepath.Join(s.dir, packName(at.pack)), Offset: int64(at.offset), Why: why.Error()}
}

// entry reads the entry at a place, with its stored bytes.
func (v *view) entry(at place) (entry, []byte, error) {
	p := v.packs[at.pack]
	if p == nil {
		return entry{}, nil, errors.New("the pack is missing")
	}
	if int64(at.offset)+int64(at.size) > p.size {
		return entry{}, nil, errors.New("the pack ends before it")
	}
	buf := make([]byte, at.size)
	if _, err := p.file.ReadAt(buf, int64(at.offset)); err != nil {
		return entry{}, nil, err
	}
	e, ok := parseEntry(buf, int64(at.offset))
	switch {
	case !ok || e.size() != int64(at.size):
		return entry{}, nil, errors.New("here should be the header of an object")
	case checksum(buf[entryHeader:]) != e.sum:
		return entry{}, nil, errors.New("its bytes have another checksum")
	}
	return e, buf[entryHeader:], nil
}

// refresh takes in what others have done since the last look.
func (s *Store) refresh() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.look()
}

// look is refresh, under s.mu.
func (s *Store) look() error {
	if err := s.usable(); errors.Is(err, errClosed) {
		return err
	}
	old, err := s.view.look()
	if err == nil && old {
		err = s.reload(true)
	}
	return errors.Join(err, s.usable())
}

// usable returns why nothing that is known can be believed, under s.mu.
func (s *Store) usable() error {
	if s.view == nil {
		return errClosed
	}
	return s.view.dead.damaged
}

// look takes in what was added. It reports whether what is known is too old for that.
func (v *view) look() (old bool, err error) {
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
	if v.behind() {
		return true, nil
	}
	return false, v.rest()
}

// behind reports whether much was added, and there is a newer index that may know it.
func (v *view) behind() bool {
	var more int64
	for _, p := range v.packs {
		if size, err := p.length(); err == nil {
			more += size - p.size
		}
	}
	if more < much {
		return false
	}
	info, err := os.Stat(filepath.Join(v.dir, indexName))
	return err == nil && (v.index == nil || !os.SameFile(info, v.index.info))
}

// reload reads the folder anew, under s.mu.
func (s *Store) reload(useIndex bool) error {
	view, err := load(s.dir, useIndex)
	if err != nil {
		return err
	}
	_ = s.view.close() // it was only read
	s.view = view
	return nil
}

// rebuild reads all packs, where the index was believed so far.
func (s *Store) rebuild() error {
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

// Size returns how many bytes the folder holds, but for what is in quarantine.
func (s *Store) Size() (int64, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
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

// Hold keeps everything that is in the store there until release is called, or the process ends: Prune and Repair wait
// for that. It waits for them, until ctx ends.
func (s *Store) Hold(ctx context.Context) (release func() error, err error) {
	l, err := s.hold(ctx)
	if err != nil {
		return nil, fmt.Errorf("hold snapshots: %w", err)
	}
	return sync.OnceValue(l.release), nil
}

func (s *Store) hold(ctx context.Context) (*lock, error) {
	l, err := acquire(ctx, filepath.Join(s.dir, lockName), unix.LOCK_SH)
	if err != nil {
		return nil, err
	}
	if err := s.refresh(); err != nil {
		return nil, errors.Join(err, l.release())
	}
	return l, nil
}

// Commit is a commit record. ID is its content's hash.
type Commit struct {
	ID      ID
	Content []byte
}

// Commits returns all commit records, the oldest first, also those that other processes have committed since the last
// call. One that cannot be read is an error; the others are returned with it.
func (s *Store) Commits() ([]Commit, error) {
	if err := s.refresh(); err != nil {
		return nil, fmt.Errorf("list commits: %w", err)
	}
	commits, err := s.commits()
	if err != nil {
		if err := s.rebuild(); err != nil {
			return nil, fmt.Errorf("list commits: %w", err)
		}
		commits, err = s.commits()
	}
	return commits, err
}

func (s *Store) commits() ([]Commit, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.usable(); err != nil {
		return nil, err
	}
	records, err := s.view.commits()
	if err != nil {
		return nil, err
	}
	var commits []Commit
	var errs []error
	seen := map[ID]bool{}
	for _, r := range records {
		e, content, err := s.view.entry(r.place)
		if err == nil && (e.kind != kindCommit || IDOf(content) != e.id) {
			err = errors.New("here should be a commit record")
		}
		if err != nil {
			errs = append(errs, s.damaged(e.id, r.place, err))
			continue
		}
		if !seen[e.id] {
			commits = append(commits, Commit{ID: e.id, Content: content})
		}
		seen[e.id] = true
	}
	return commits, errors.Join(errs...)
}
