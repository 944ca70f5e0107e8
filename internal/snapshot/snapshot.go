// Package snapshot keeps the content of a project's workspace: it takes snapshots, compares them, brings them back,
// checks them and lets go of old ones.
//
// A snapshot holds every file, link and folder below the root, whoever made or changed it, but for what git or
// .pawlignore leaves out, what pawl and git keep for themselves (.pawl and .git, at any depth), and what is neither
// file nor folder nor link. It is content and permission bits; times, owners, extended attributes and hard links are
// not kept. What is left out is listed in it.
//
// Taking one reads only what changed since the one before, by size, times and inode, and writes once. It never writes
// in the workspace or in .git, and takes no lock there. Restoring never removes or overwrites anything that is not in
// a snapshot.
//
// A file that changes while it is read is read again, three times at most; then it is taken as it was read last, and the
// next snapshot reads it again. What vanishes meanwhile is not in the snapshot. What may not be read, files over 2 TiB,
// and what lies in a folder whose path is longer than 4095 bytes is left out, each with its reason; but where it is we
// who lack memory or descriptors there is no snapshot. Names and targets of links are any bytes, and links are never
// followed. Times are never trusted alone: a change that kept size and mtime is seen by its ctime, and one within the same
// tick of the clock because what changed so late is read again. Holes of files over 8 MiB are not read, and come back as
// holes. Hard links come back as files of their own. A restore replaces files, never writes into them, so nothing that is
// linked elsewhere changes; what somebody changed since the snapshot before it is not touched, and said.
package snapshot

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"pawl"
	"pawl/internal/snapshot/ignore"
	"pawl/internal/snapshot/pack"
)

// DefaultQuota is how many bytes the store of a project may take.
const DefaultQuota = 2 << 30

// Config says where the files are and what is kept of them.
type Config struct {
	Root     string   // the workspace, absolute, links followed
	Dir      string   // the store's own folder
	Patterns []string // asked before every .pawlignore. Defaults to none.
	Defaults []string // asked after every .pawlignore. Defaults to none.
	Quota    int64    // bytes on disk. Defaults to DefaultQuota.
}

// Store is a project's snapshots. It may be used by many goroutines, and many processes may have one open.
type Store struct {
	cfg   Config
	packs *pack.Store
	mu    sync.Mutex // one walk at a time
}

// ErrQuota: what must be kept fills the quota, or what is to be kept would. No snapshot was taken.
var ErrQuota = errors.New("the quota for snapshots is full")

// Open opens the store, and makes it where it is missing.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	if cfg.Quota == 0 {
		cfg.Quota = DefaultQuota
	}
	packs, err := pack.Open(ctx, cfg.Dir)
	if err != nil {
		return nil, fmt.Errorf("open the snapshots: %w", err)
	}
	return &Store{cfg: cfg, packs: packs}, nil
}

// Close gives the store back.
func (s *Store) Close() error { return s.packs.Close() }

// Stamp says what a snapshot is taken for.
type Stamp struct {
	Checkpoint pawl.CheckpointID   `json:"checkpoint"`
	Kind       pawl.CheckpointKind `json:"kind"`
	Run        pawl.RunID          `json:"run"`
	Step       pawl.StepID         `json:"step,omitempty"`
	Item       pawl.ItemID         `json:"item,omitempty"`
	Attempt    int                 `json:"attempt,omitempty"`
	Token      pawl.Token          `json:"token,omitempty"`
	Why        string              `json:"why,omitempty"`
	Seq        pawl.Seq            `json:"seq"` // of the last event seen before the walk
	Live       []pawl.AttemptRef   `json:"live,omitempty"`
}

// Record is a snapshot's commit record: the last thing that is written of it.
type Record struct {
	Format int `json:"format"`
	Stamp
	Started time.Time `json:"started"` // of the walk
	Ended   time.Time `json:"ended"`
	Tree    pack.ID   `json:"tree"`
	Files   int       `json:"files"` // files and links
	Bytes   int64     `json:"bytes"`
	Added   int64     `json:"added_bytes"`
	LeftOut int       `json:"left_out"`
	Missing *pack.ID  `json:"left_out_list,omitempty"` // the object that names what is left out
	Head    *Head     `json:"head,omitempty"`          // where git stood

	ID pack.ID `json:"-"` // the record's own
}

// recordFormat is the version of Record and of everything that it names.
const recordFormat = 1

// Snapshot is what an event says of the record.
func (r Record) Snapshot() *pawl.Snapshot {
	return &pawl.Snapshot{
		Record: r.ID.String(), Tree: r.Tree.String(), Files: r.Files, Bytes: r.Bytes, Added: r.Added, LeftOut: r.LeftOut,
	}
}

// Take takes a snapshot. When it returns without an error, all of it survives a power cut; after an error there is
// none. A file that cannot be read is left out, and listed, and is no error. ErrQuota: see there.
func (s *Store) Take(ctx context.Context, stamp Stamp) (Record, error) {
	if err := s.room(); err != nil {
		return Record{}, err
	}
	look, err := s.look(ctx, nil)
	if err != nil {
		return Record{}, fmt.Errorf("take a snapshot: %w", err)
	}
	record, err := look.commit(ctx, stamp)
	if err != nil {
		return Record{}, fmt.Errorf("take a snapshot: %w", err)
	}
	return record, nil
}

// room reports with ErrQuota that the quota is used up.
func (s *Store) room() error {
	size, err := s.packs.Size()
	if err == nil && size >= s.cfg.Quota {
		err = ErrQuota
	}
	return err
}

// A look is the workspace as it is now: its trees are in the batch, and are kept or forgotten with it.
type look struct {
	*walk
	store *Store
	root  Entry
	ended time.Time
}

// look walks the workspace. Also content is what is at a path of include or below, although it is ignored.
// The caller commits or aborts.
func (s *Store) look(ctx context.Context, include []string) (*look, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rules, err := ignore.Load(ctx, s.cfg.Root, ignore.Options{Patterns: s.cfg.Patterns, Defaults: s.cfg.Defaults})
	if err != nil {
		return nil, err
	}
	known, err := trackedBelow(ctx, s.cfg.Root)
	if err != nil {
		return nil, err
	}
	known.include = include
	root, err := openFolder(s.cfg.Root)
	if err != nil {
		return nil, err
	}
	defer unix.Close(root)
	batch, err := s.packs.Begin(ctx)
	if err != nil {
		return nil, err
	}
	old := readStatCache(s.statFile()) // not before: until we hold the batch, what it names may be pruned or repaired away
	w := &walk{
		ctx: ctx, root: root, batch: batch, limit: s.cfg.Quota, old: old, tracked: known,
		index: known.key == old.index && len(include) == 0,
	}
	l := &look{walk: w, store: s}
	if l.root, err = w.run(rules); err != nil {
		return nil, errors.Join(err, batch.Abort())
	}
	l.ended = time.Now()
	slices.SortFunc(w.leftOut, func(a, b LeftOut) int { return cmp.Compare(a.Path, b.Path) })
	if len(include) == 0 {
		_ = l.remember() // it is a cache: the next walk takes longer without it
	}
	return l, nil
}

func openFolder(path string) (int, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("open %s: %w", path, err)
	}
	return fd, nil
}

// remember writes the stat cache. What it says need not be in the store: that is asked before it is believed.
func (l *look) remember() error {
	if !l.stale && len(l.blocks) == len(l.old.blocks) && l.index {
		return nil
	}
	return writeStatCache(l.store.statFile(), l.started.UnixNano(), l.tracked.key, l.blocks)
}

func (s *Store) statFile() string { return filepath.Join(s.cfg.Dir, "stat") }

// commit makes the look a snapshot.
func (l *look) commit(ctx context.Context, stamp Stamp) (Record, error) {
	record := Record{
		Format: recordFormat, Stamp: stamp, Started: l.started.UTC(), Ended: l.ended.UTC(),
		Tree: l.root.ID, Files: l.root.Files, Bytes: l.root.Size, LeftOut: len(l.leftOut),
	}
	err := l.describe(ctx, &record)
	if err == nil {
		record.ID, err = l.write(ctx, record)
	}
	if err != nil {
		return Record{}, errors.Join(err, l.batch.Abort())
	}
	return record, nil
}

func (l *look) describe(ctx context.Context, record *Record) (err error) {
	if record.Head, err = HeadOf(ctx, l.store.cfg.Root); err != nil {
		return fmt.Errorf("see where git stands: %w", err)
	}
	if len(l.leftOut) > 0 {
		id, err := l.batch.Put(encodeLeftOut(l.leftOut))
		if err != nil {
			return err
		}
		record.Missing = &id
	}
	_, record.Added = l.batch.Added()
	return nil
}

func (l *look) write(ctx context.Context, record Record) (pack.ID, error) {
	content, err := json.Marshal(record)
	if err != nil {
		return pack.ID{}, err
	}
	return l.batch.Commit(ctx, content)
}

// Records returns the commit records of all snapshots, the oldest first.
func (s *Store) Records() ([]Record, error) {
	commits, err := s.packs.Commits()
	if err != nil {
		return nil, err
	}
	records := make([]Record, 0, len(commits))
	for _, c := range commits {
		r, err := readRecord(c)
		if err != nil {
			return nil, err
		}
		records = append(records, r)
	}
	return records, nil
}

func readRecord(c pack.Commit) (Record, error) {
	var r Record
	if err := json.Unmarshal(c.Content, &r); err != nil {
		return Record{}, &pawl.Error{Kind: pawl.KindDamaged, Err: fmt.Errorf("commit record %s: %w", c.ID, err), Hint: "pawl verify"}
	}
	if r.Format > recordFormat {
		return Record{}, &pawl.Error{Kind: pawl.KindDamaged, Err: fmt.Errorf("commit record %s: format %d is newer than this pawl", c.ID, r.Format)}
	}
	r.ID = c.ID
	return r, nil
}

// LeftOutOf lists what is not in the snapshot, by path.
func (s *Store) LeftOutOf(r Record) ([]LeftOut, error) {
	if r.Missing == nil {
		return nil, nil
	}
	data, err := s.packs.Get(*r.Missing)
	if err != nil {
		return nil, err
	}
	list, ok := decodeLeftOut(data)
	if !ok {
		return nil, &pack.DamagedError{ID: *r.Missing, Why: "not a list of what is left out"}
	}
	return list, nil
}

// tree reads a folder's entries.
func (s *Store) tree(id pack.ID) ([]Entry, error) {
	data, err := s.packs.Get(id)
	if err != nil {
		return nil, err
	}
	entries, err := decodeTree(data)
	if err != nil {
		return nil, &pack.DamagedError{ID: id, Why: err.Error()}
	}
	return entries, nil
}

// blocks reads the ids of a large file's blocks.
func (s *Store) blocks(id pack.ID) ([]pack.ID, error) {
	data, err := s.packs.Get(id)
	if err != nil {
		return nil, err
	}
	if len(data)%len(id) != 0 {
		return nil, &pack.DamagedError{ID: id, Why: "not a list of blocks"}
	}
	ids := make([]pack.ID, len(data)/len(id))
	for i := range ids {
		copy(ids[i][:], data[i*len(id):])
	}
	return ids, nil
}

// List reads a folder's entries, by name.
func (s *Store) List(folder Entry) ([]Entry, error) { return s.tree(folder.ID) }

// At finds the entry at a path of a snapshot: "." is the root. nil: there is none.
func (s *Store) At(r Record, path string) (*Entry, error) {
	e := Entry{Kind: Folder, Size: r.Bytes, Files: r.Files, ID: r.Tree}
	if path = filepath.ToSlash(filepath.Clean(path)); path == "." {
		return &e, nil
	}
	for name := range strings.SplitSeq(path, "/") {
		if e.Kind != Folder {
			return nil, nil
		}
		entries, err := s.tree(e.ID)
		if err != nil {
			return nil, err
		}
		at, found := slices.BinarySearchFunc(entries, name, func(e Entry, name string) int { return cmp.Compare(e.Name, name) })
		if !found {
			return nil, nil
		}
		e = entries[at]
	}
	return &e, nil
}

// Full reports whether the store takes more than its quota.
func (s *Store) Full() (bool, error) {
	size, err := s.packs.Size()
	return size > s.cfg.Quota, err
}
