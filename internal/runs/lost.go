package runs

import (
	"context"
	"errors"
	"fmt"
	"pawl"
	"pawl/internal/config"
	"pawl/internal/disk"
	"pawl/internal/journal"
	"pawl/internal/project"
	"pawl/internal/snapshot"
	"slices"
	"strings"
	"sync"
)

func Subfolders(path string) []string {
	entries, err := disk.ReadDir(path)
	if err != nil {
		return nil
	}
	var names []string
	for _, entry := range entries {
		if entry.IsDir() {
			names = append(names, entry.Name())
		}
	}
	return names
}

// ExplainMissing returns err, or a better error if a matching run has lost its journal or has only snapshots left.
func ExplainMissing(ctx context.Context, p *project.Project, name string, err error) error {
	lost, listErr := journal.Lost(p.Runs())
	if listErr != nil {
		return listErr
	}
	for _, run := range slices.Backward(lost) {
		if strings.HasPrefix(string(run), name) {
			return &pawl.Error{
				Kind: pawl.KindDamaged, Err: fmt.Errorf("the journal of run %s is missing", run), Hint: "pawl recover " + string(run),
			}
		}
	}
	if err == nil {
		return nil
	}
	run, listErr := newestWithSnapshots(ctx, p, name)
	if listErr != nil || run == "" {
		return errors.Join(err, listErr)
	}
	if errors.Is(err, noRuns{}) {
		err = pawl.ErrNoRun // there was one
	}
	return &pawl.Error{Kind: pawl.KindNothing, Err: fmt.Errorf("%w; but snapshots of run %s exist", err, run), Hint: "pawl recover " + string(run)}
}

// newestWithSnapshots returns the newest matching run of which only snapshots are left.
func newestWithSnapshots(ctx context.Context, p *project.Project, name string) (pawl.RunID, error) {
	aside, err := ArchivedRuns(p)
	if err != nil {
		return "", err
	}
	records, err := OpenSnapshotRecords(ctx, p, config.Snapshots{})
	if err != nil {
		return "", err
	}
	defer records.Close()
	for _, run := range records.Runs() {
		if _, err := disk.Lstat(p.RunDir(run)); err != nil && !slices.Contains(aside, run) && strings.HasPrefix(string(run), name) {
			return run, nil
		}
	}
	return "", nil
}

// SnapshotRecords are the commit records of all snapshots, with their store.
type SnapshotRecords struct {
	Store *snapshot.Store // nil if there is none, or it cannot be read
	All   []snapshot.Record
}

// OpenSnapshotRecords opens the snapshots, if there are any. A store that cannot be read counts as none.
func OpenSnapshotRecords(ctx context.Context, p *project.Project, cfg config.Snapshots) (*SnapshotRecords, error) {
	if _, err := disk.Lstat(p.Snapshots()); err != nil {
		return &SnapshotRecords{}, nil
	}
	store, err := OpenSnapshots(ctx, p, cfg)
	if err != nil {
		return &SnapshotRecords{}, ctx.Err()
	}
	s := &SnapshotRecords{Store: store}
	if s.All, err = store.Records(); err != nil {
		s.All = nil
	}
	return s, ctx.Err()
}

// Runs returns the runs that have snapshots.
func (s *SnapshotRecords) Runs() []pawl.RunID {
	var runs []pawl.RunID
	for _, record := range s.All {
		if run, err := pawl.ParseRunID(string(record.Run)); err == nil {
			runs = append(runs, run)
		}
	}
	return NewestRuns(runs)
}

func (s *SnapshotRecords) Close() {
	if s.Store != nil {
		s.Store.Close() // opened for reading only
	}
}

// OpenSnapshots opens the project's snapshot store. It creates a missing one, but not in an untrusted project.
func OpenSnapshots(ctx context.Context, p *project.Project, cfg config.Snapshots) (*snapshot.Store, error) {
	if _, err := disk.Lstat(p.Snapshots()); err != nil && !p.Trust.Trusted() {
		return nil, err
	}
	return snapshot.Open(ctx, snapshotConfig(p, cfg))
}

// Snapshots is the project's snapshot store. The first Open opens it, so that several checks may share it.
type Snapshots struct {
	project *project.Project
	config  config.Snapshots

	mu    sync.Mutex // guards what follows
	store *snapshot.Store
}

// SnapshotsOf returns the project's snapshot store, not yet opened.
func SnapshotsOf(p *project.Project, cfg config.Snapshots) *Snapshots {
	return &Snapshots{project: p, config: cfg}
}

// Open is OpenSnapshots, once.
func (s *Snapshots) Open(ctx context.Context) (store *snapshot.Store, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.store == nil {
		s.store, err = OpenSnapshots(ctx, s.project, s.config)
	}
	return s.store, err
}

// Close closes the store if it is open.
func (s *Snapshots) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.store == nil {
		return nil
	}
	store := s.store
	s.store = nil
	return store.Close()
}

// OpenSnapshotsReadOnly opens the project's snapshot store and changes nothing there. A missing store is empty.
func OpenSnapshotsReadOnly(ctx context.Context, p *project.Project, cfg config.Snapshots) (*snapshot.Store, error) {
	how := snapshotConfig(p, cfg)
	how.ReadOnly = true
	return snapshot.Open(ctx, how)
}

func snapshotConfig(p *project.Project, cfg config.Snapshots) snapshot.Config {
	return snapshot.Config{
		Root: p.Root, Dir: p.Snapshots(), Patterns: cfg.Ignore, Defaults: secretFilePatterns(), MoreDefaults: dotenvPatterns(p), Derived: cfg.Derived,
		Quota: int64(cfg.Quota),
	}
}

func NewestRuns(runs []pawl.RunID) []pawl.RunID {
	slices.SortFunc(runs, byAge)
	return slices.Compact(runs)
}
