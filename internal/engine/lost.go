package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"pawl"
	"pawl/internal/config"
	"pawl/internal/journal"
	"pawl/internal/project"
	"pawl/internal/snapshot"
	"slices"
	"strings"
)

func foldersIn(path string) []string {
	entries, err := os.ReadDir(path)
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

// lostOr returns err, unless a run that the name may stand for has lost its journal, or all but its snapshots: then it
// says so.
func lostOr(ctx context.Context, p *project.Project, name string, err error) error {
	lost, listErr := journal.Lost(p.Runs())
	if listErr != nil {
		return listErr
	}
	for _, run := range slices.Backward(lost) {
		if strings.HasPrefix(string(run), name) {
			return &pawl.Error{
				Kind: pawl.KindDamaged, Err: fmt.Errorf("the journal of run %s is gone", run), Hint: "pawl recover " + string(run),
			}
		}
	}
	if err == nil {
		return nil
	}
	run, listErr := onlySaved(ctx, p, name)
	if listErr != nil || run == "" {
		return errors.Join(err, listErr)
	}
	return &pawl.Error{Kind: pawl.KindNothing, Err: fmt.Errorf("%w; but there are snapshots of run %s", err, run), Hint: "pawl recover " + string(run)}
}

// onlySaved returns the newest run that the name may stand for of which snapshots are all that is left.
func onlySaved(ctx context.Context, p *project.Project, name string) (pawl.RunID, error) {
	aside, err := Archived(p)
	if err != nil {
		return "", err
	}
	records, err := recordsOf(ctx, p, config.Snapshots{})
	if err != nil {
		return "", err
	}
	defer records.close()
	for _, run := range records.runs() {
		if _, err := os.Stat(p.RunDir(run)); err != nil && !slices.Contains(aside, run) && strings.HasPrefix(string(run), name) {
			return run, nil
		}
	}
	return "", nil
}

// savedRecords are the snapshots' commit records, with the store to look into them.
type savedRecords struct {
	store *snapshot.Store // nil: there is none, or it cannot be read
	all   []snapshot.Record
}

// recordsOf opens the snapshots, if there are any. A store that cannot be read is no evidence, and no reason to stop.
func recordsOf(ctx context.Context, p *project.Project, cfg config.Snapshots) (*savedRecords, error) {
	if _, err := os.Stat(p.Snapshots()); err != nil {
		return &savedRecords{}, nil
	}
	store, err := OpenSnapshots(ctx, p, cfg)
	if err != nil {
		return &savedRecords{}, ctx.Err()
	}
	s := &savedRecords{store: store}
	if s.all, err = store.Records(); err != nil {
		s.all = nil
	}
	return s, ctx.Err()
}

// runs returns the runs that snapshots were taken of.
func (s *savedRecords) runs() []pawl.RunID {
	var runs []pawl.RunID
	for _, record := range s.all {
		if run, err := pawl.ParseRunID(string(record.Run)); err == nil {
			runs = append(runs, run)
		}
	}
	return newestRuns(runs)
}

func (s *savedRecords) close() {
	if s.store != nil {
		s.store.Close() // it was only read
	}
}

// secrets are patterns of files that are made to hold secrets. They are in no snapshot unless a .pawlignore brings them
// back, or git has them anyway.
var secrets = []string{
	".env", ".env.local", ".env.*.local", ".env.dev", ".env.development", ".env.prod", ".env.production", ".env.staging", ".env.test",
	".envrc", ".netrc", ".pgpass", ".git-credentials",
}

// OpenSnapshots opens the project's snapshots.
func OpenSnapshots(ctx context.Context, p *project.Project, cfg config.Snapshots) (*snapshot.Store, error) {
	return snapshot.Open(ctx, snapshot.Config{Root: p.Root, Dir: p.Snapshots(), Patterns: cfg.Ignore, Defaults: secrets, Quota: int64(cfg.Quota)})
}

func newestRuns(runs []pawl.RunID) []pawl.RunID {
	slices.SortFunc(runs, byAge)
	return slices.Compact(runs)
}
