// Package snapshot stores snapshots of a project's workspace, and compares, restores, verifies and prunes them.
//
// A snapshot holds every file, link and folder below the root, whoever wrote it, except what git or .pawlignore
// ignores, .pawl and .git at any depth, and sockets, pipes and devices. It holds content and permission bits, but no
// times, owners, extended attributes or hard links. It lists what was left out, also the .git of nested repositories.
//
// Taking a snapshot reads only files whose size, times or inode changed since the last one, and lists only folders whose times or inode
// did, except on file systems that are not known to change the times of a folder with its names. With Watch, snapshots of some kinds skip
// folders in which the kernel has reported no change. Taking one never writes to the workspace or to .git, and takes no lock there. A
// restore never removes or overwrites anything that is not in a snapshot.
//
// A file that changes during the read is read again, three times at most; then its last content is stored, and the next
// snapshot reads it again. A file that disappears meanwhile is not in the snapshot. Unreadable files, files over 2 TiB
// and folders whose path exceeds 4095 bytes are left out, each with a reason. If the process runs out of memory or
// descriptors, the snapshot fails.
//
// Names and link targets may be any bytes. Links are never followed. A change that keeps size and mtime is seen by its
// ctime; a change within the same clock tick is seen because files modified that late are read again, and folders listed. Holes in files
// over 8 MiB are neither read nor filled on restore. Hard links are restored as separate files.
//
// A restore replaces files and never writes into them, so hard links outside the workspace keep their content. A file
// modified since the safety snapshot is left alone and reported.
package snapshot

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/oneline"
	"pawl/internal/redact"
	"pawl/internal/snapshot/ignore"
	"pawl/internal/snapshot/pack"
)

// DefaultQuota is the maximum size of a project's store, in bytes.
const DefaultQuota = 2 << 30

// Config configures a Store.
type Config struct {
	Root     string   // the workspace: an absolute path without symbolic links
	Dir      string   // folder of the store
	Patterns []string // ignore patterns that precede those of .pawlignore. Defaults to none.
	Defaults []string // ignore patterns that follow those of .pawlignore. Defaults to none.

	// MoreDefaults returns further Defaults. It is called for each snapshot. Defaults to none.
	MoreDefaults func() ([]string, error)

	Derived  bool  // store also derived folders, such as node_modules. Defaults to false.
	Quota    int64 // bytes on disk. Defaults to DefaultQuota.
	ReadOnly bool  // change nothing in Dir, which may be missing. Defaults to false.
}

// Store holds a project's snapshots. Its methods may be called concurrently, and several processes may have it open.
type Store struct {
	cfg   Config
	packs *pack.Store

	small, part int            // smallCache and smallPart; tests set them
	reading     sync.WaitGroup // see ReadAhead

	mu       sync.Mutex // one walk at a time; guards what follows
	watching watching
	last     lastCache
}

// ErrQuota means that the store has reached its quota, or that a new snapshot would exceed it. No snapshot was taken.
var ErrQuota = errors.New("the snapshot quota is used up")

// Open opens the store and creates it if it is missing.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	if cfg.Quota == 0 {
		cfg.Quota = DefaultQuota
	}
	open := pack.Open
	if cfg.ReadOnly {
		open = pack.OpenReadOnly
	}
	packs, err := open(ctx, cfg.Dir)
	if err != nil {
		return nil, fmt.Errorf("open the snapshots: %w", err)
	}
	return &Store{cfg: cfg, packs: packs, small: smallCache, part: smallPart}, nil
}

// Close closes the store.
func (s *Store) Close() error {
	s.reading.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.watching.close(), s.packs.Close())
}

// Stamp describes what a snapshot is taken for.
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

// Record is a snapshot's commit record, which is written last.
type Record struct {
	Format int `json:"format"`
	Stamp
	Started     time.Time `json:"started"` // of the walk
	Ended       time.Time `json:"ended"`
	Tree        pack.ID   `json:"tree"`
	Files       int       `json:"files"` // files and links
	Bytes       int64     `json:"bytes"`
	Added       int64     `json:"added_bytes"`
	LeftOut     int       `json:"left_out"`
	LeftOutList *pack.ID  `json:"left_out_list,omitempty"` // the list of left-out paths
	NewLeftOut  []LeftOut `json:"-"`                       // what pawl chose to leave out and the last walk did not; set only by Take and Save
	Head        *Head     `json:"head,omitempty"`          // nil: no repository
	Paths       []string  `json:"paths,omitempty"`         // the snapshot has only these paths, and everything below them; the rest of Tree is older. Defaults to all.
	Watched     bool      `json:"watched,omitempty"`       // folders without a reported change were not read; see Watch

	ID pack.ID `json:"-"` // hash of the record
}

// Versions of Record and of the objects that it names.
const (
	recordFormat  = 1
	partialFormat = 2 // has Paths
)

// Within returns the paths among those that the snapshot has. No paths mean all that it has. It fails if the snapshot does not have one.
func (r Record) Within(paths []string) ([]string, error) {
	if len(paths) == 0 {
		return r.Paths, nil
	}
	return paths, r.requires(clean(paths))
}

// requires returns an error unless the snapshot has the paths and everything below them. No paths mean all.
func (r Record) requires(paths []string) error {
	switch {
	case len(r.Paths) == 0:
		return nil
	case len(paths) == 0, slices.Contains(paths, "."):
		return r.lacks("the whole project")
	}
	for _, p := range paths {
		if !covered(p, r.Paths) {
			return r.lacks(oneline.Path(p))
		}
	}
	return nil
}

func (r Record) lacks(what string) error {
	return &pawl.Error{
		Kind: pawl.KindUsage, Err: fmt.Errorf("checkpoint %s does not have %s, only %s", r.Checkpoint, what, oneline.Few(r.Paths)),
		Hint: "pawl checkpoints",
	}
}

// Snapshot returns the record's summary for an event.
func (r Record) Snapshot() *pawl.Snapshot {
	return &pawl.Snapshot{
		Record: r.ID.String(), Tree: r.Tree.String(), Files: r.Files, Bytes: r.Bytes, Added: r.Added, LeftOut: r.LeftOut,
	}
}

// ErrUnchanged means that a snapshot would have the same content as another one. No snapshot was taken.
var ErrUnchanged = errors.New("nothing has changed")

// Take takes a snapshot. When it returns nil, the snapshot survives a power failure; after an error there is none. An
// unreadable file is left out and listed, and is not an error. At the quota, Take returns ErrQuota.
func (s *Store) Take(ctx context.Context, stamp Stamp) (Record, error) {
	return s.take(ctx, stamp, nil, "", s.cfg.Quota)
}

// TakeWith is like Take, but reads the paths in include, and everything below them, even if they are ignored.
func (s *Store) TakeWith(ctx context.Context, stamp Stamp, include []string) (Record, error) {
	include = clean(include)
	slices.Sort(include)
	return s.take(ctx, stamp, include, "", s.cfg.Quota)
}

// TakeChanged is like TakeWith, but returns ErrUnchanged if the root folder's tree would be same.
func (s *Store) TakeChanged(ctx context.Context, stamp Stamp, include []string, same pack.ID) (Record, error) {
	include = clean(include)
	slices.Sort(include)
	return s.take(ctx, stamp, include, same.String(), s.cfg.Quota)
}

// TakeSpare is like Take for a snapshot that nobody waits for. It returns ErrUnchanged if the root folder's tree would be
// the one named same, and leaves the last of the disk's space to others.
func (s *Store) TakeSpare(ctx context.Context, stamp Stamp, same string) (Record, error) {
	space, err := disk.SpaceOf(s.cfg.Dir)
	if err != nil {
		return Record{}, err
	}
	limit := min(s.cfg.Quota, space.Spare())
	record, err := s.take(ctx, stamp, nil, same, limit)
	if limit < s.cfg.Quota && errors.Is(err, ErrQuota) {
		err = fmt.Errorf("the disk is almost full: %s", space)
	}
	return record, err
}

// take takes a snapshot that adds at most limit bytes, unless its tree would be the one named same.
func (s *Store) take(ctx context.Context, stamp Stamp, include []string, same string, limit int64) (Record, error) {
	if err := s.checkQuota(); err != nil {
		return Record{}, err
	}
	scan, err := s.scanUpTo(ctx, include, extent{rests: mayRest(stamp.Kind)}, limit)
	if err != nil {
		return Record{}, fmt.Errorf("take a snapshot: %w", err)
	}
	if scan.root.ID.String() == same {
		return Record{}, errors.Join(ErrUnchanged, scan.batch.Abort())
	}
	record, err := scan.commit(ctx, stamp)
	if err != nil {
		return Record{}, fmt.Errorf("take a snapshot: %w", err)
	}
	return record, nil
}

// checkQuota returns ErrQuota if the store has reached its quota.
func (s *Store) checkQuota() error {
	size, err := s.packs.Size()
	if err == nil && size >= s.cfg.Quota {
		err = ErrQuota
	}
	return err
}

// A scan is a walk of the workspace. Its trees are in the batch, and are committed or discarded with it.
type scan struct {
	*walk
	store *Store
	root  Entry
	ended time.Time
}

// extent is the part of the workspace that a scan reads: paths, and everything below them. The rest of its tree is that of base. The
// zero extent is the whole workspace.
type extent struct {
	paths []string
	base  Record
	rests bool // skip the folders in which the watch has seen no change. Defaults to false.
}

// extentOf returns the extent of paths. Paths that include the root, or none, mean the whole workspace.
func extentOf(paths []string, base Record) extent {
	if slices.Contains(paths, ".") {
		return extent{}
	}
	return extent{paths: paths, base: base}
}

// isPart reports whether a scan does not read all of a folder.
func (e extent) isPart(folder string) bool { return len(e.paths) > 0 && !covered(folder, e.paths) }

// readsFolder reports whether a scan reads a whole folder.
func (e extent) readsFolder(root int) bool {
	return len(e.paths) == 0 || slices.ContainsFunc(e.paths, func(path string) bool {
		kind, err := kindBelow(root, path)
		return err == nil && kind == unix.S_IFDIR
	})
}

// reads reports whether a scan reads a path or something below it.
func (e extent) reads(path string) bool { return covered(path, e.paths) || isParent(path, e.paths) }

// readsIn reports whether a scan reads a name in a folder. Pattern files say what the snapshot leaves out, so they belong to each part.
func (e extent) readsIn(folder, name string) bool {
	return name == ignore.GitFile || name == ignore.PawlFile || e.reads(join(folder, name))
}

// scan walks the workspace, or a part of it. Paths in include, and everything below them, are read even if they are ignored. The caller
// commits the batch or aborts it.
func (s *Store) scan(ctx context.Context, include []string, part extent) (*scan, error) {
	return s.scanUpTo(ctx, include, part, s.cfg.Quota)
}

// scanUpTo is like scan, but fails if the batch would have more bytes than limit.
func (s *Store) scanUpTo(ctx context.Context, include []string, part extent, limit int64) (*scan, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rules, known, err := s.rules(ctx)
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
	newWalk := func() *walk {
		return &walk{
			ctx: ctx, root: root, batch: batch, limit: limit, tracked: known, part: part, stored: s.tree, keepDerived: s.cfg.Derived,
		}
	}
	l := &scan{walk: newWalk(), store: s}
	l.remember(part.rests)
	l.root, err = l.run(rules)
	if err == nil && l.watched.doubts() {
		l.walk = newWalk()
		l.remember(false)
		l.root, err = l.run(rules)
	}
	if err != nil {
		return nil, errors.Join(err, batch.Abort())
	}
	l.carry()
	l.ended = time.Now()
	if len(part.paths) > 0 {
		before, err := s.LeftOutOf(part.base)
		if err != nil {
			return nil, errors.Join(err, batch.Abort())
		}
		l.leftOut = append(l.leftOut, slices.DeleteFunc(before, func(o LeftOut) bool { return part.reads(o.Path) })...)
	}
	slices.SortFunc(l.leftOut, func(a, b LeftOut) int { return cmp.Compare(a.Path, b.Path) })
	if l.isWhole() {
		found := l.found()
		s.watching.end(l.walk, found, l.saveStatCache(found))
	}
	return l, nil
}

// rules returns the ignore rules of the root, and what git tracks below it.
func (s *Store) rules(ctx context.Context) (*ignore.Rules, *tracked, error) {
	defaults, err := s.defaults()
	if err != nil {
		return nil, nil, err
	}
	repo, _, err := ignore.FindRepository(s.cfg.Root)
	if err != nil {
		return nil, nil, err
	}
	rules, err := ignore.Load(ctx, s.cfg.Root, ignore.Options{Patterns: s.cfg.Patterns, Defaults: defaults, Variant: s.variant(), Repository: &repo})
	if err != nil {
		return nil, nil, err
	}
	known, err := trackedIn(ctx, s.cfg.Root, repo)
	return rules, known, err
}

// isWhole reports whether the walk is of the whole workspace, as the rules have it.
func (w *walk) isWhole() bool { return len(w.tracked.include) == 0 && len(w.part.paths) == 0 }

// remember gives the walk what the last one found. The open batch keeps Prune and Repair from removing what that names.
func (l *scan) remember(rests bool) {
	l.old = emptyStatCache()
	if l.isWhole() {
		l.store.watching.begin(l, rests)
	}
	if !l.watched.remembers() && l.part.readsFolder(l.walk.root) {
		l.old = l.store.statCache()
	}
	l.index = l.tracked.key == l.old.index && len(l.tracked.include) == 0
	l.watched.skip(l.walk)
}

// defaults returns the ignore patterns that follow those of .pawlignore.
func (s *Store) defaults() ([]string, error) {
	if s.cfg.MoreDefaults == nil {
		return s.cfg.Defaults, nil
	}
	more, err := s.cfg.MoreDefaults()
	return slices.Concat(s.cfg.Defaults, more), err
}

// variant names the rules that are not patterns, for the stat cache.
func (s *Store) variant() string {
	if s.cfg.Derived {
		return "all"
	}
	return "without derived folders"
}

func openFolder(path string) (int, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("open %s: %w", path, err)
	}
	return fd, nil
}

// saveStatCache keeps what the walk found for the next one of this process, and writes the stat file if it is worth it. It reports whether
// the file has all of it. Its objects need not be in the store: readers check that.
func (l *scan) saveStatCache(found *statCache) bool {
	last := &l.store.last
	last.cache, last.unread = found, last.unread+l.read
	lacks := l.lacks()
	switch {
	case l.store.cfg.ReadOnly, l.watched.defersSave(l.walk):
		return false
	case !l.stale && len(l.blocks) == len(l.old.blocks) && l.index && !l.agedMuch():
		return lacks == 0
	case l.lacksLittle(lacks):
		return false
	}
	if writeStatCache(l.store.statFile(), found.started, found.index, l.blocks) != nil { // losing it only makes the next walk slower
		return false
	}
	for _, b := range l.blocks {
		b.unsaved = false
	}
	file, err := disk.Lstat(l.store.statFile())
	*last = lastCache{cache: found}
	if err == nil { // else the next walk reads the file
		last.file = file
	}
	return true
}

func (s *Store) statFile() string { return filepath.Join(s.cfg.Dir, "stat") }

// commit stores the scan as a snapshot.
func (l *scan) commit(ctx context.Context, stamp Stamp) (Record, error) {
	stamp.Why = redact.OfProcess().Text(stamp.Why)
	record := Record{
		Format: recordFormat, Stamp: stamp, Started: l.started.UTC(), Ended: l.ended.UTC(),
		Tree: l.root.ID, Files: l.root.Files, Bytes: l.root.Size, LeftOut: len(l.leftOut), Paths: l.part.paths,
		Watched: l.watched != nil && l.watched.skips,
	}
	if len(record.Paths) > 0 {
		record.Format = partialFormat
	}
	slices.SortFunc(l.newLeftOut, func(a, b LeftOut) int { return cmp.Compare(a.Path, b.Path) })
	record.NewLeftOut = l.newLeftOut
	err := l.describe(ctx, &record)
	if err == nil {
		record.ID, err = l.write(ctx, record)
	}
	if err != nil {
		return Record{}, errors.Join(err, l.batch.Abort())
	}
	return record, nil
}

func (l *scan) describe(ctx context.Context, record *Record) (err error) {
	if record.Head, err = headOf(ctx, l.tracked.repo); err != nil {
		return fmt.Errorf("read git's HEAD: %w", err)
	}
	if len(l.leftOut) > 0 {
		id, err := l.batch.Put(encodeLeftOut(l.leftOut))
		if err != nil {
			return err
		}
		record.LeftOutList = &id
	}
	_, record.Added = l.batch.Added()
	return nil
}

func (l *scan) write(ctx context.Context, record Record) (pack.ID, error) {
	content, err := json.Marshal(record)
	if err != nil {
		return pack.ID{}, err
	}
	return l.batch.Commit(ctx, content)
}

// Records returns the commit records of all snapshots, oldest first.
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
	if r.Format > partialFormat {
		return Record{}, &pawl.Error{Kind: pawl.KindDamaged, Err: fmt.Errorf("commit record %s: format %d is newer than this pawl", c.ID, r.Format)}
	}
	r.ID = c.ID
	return r, nil
}

// Usage returns the size of the store and its quota, in bytes.
func (s *Store) Usage() (size, quota int64, err error) {
	size, err = s.packs.Size()
	return size, s.cfg.Quota, err
}

// Full reports whether the store exceeds its quota.
func (s *Store) Full() (bool, error) {
	size, err := s.packs.Size()
	return size > s.cfg.Quota, err
}
