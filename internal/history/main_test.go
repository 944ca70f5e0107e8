package history_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/disk/disktest"
	"pawl/internal/engine/enginetest"
	"pawl/internal/history"
	"pawl/internal/project"
	"pawl/internal/runs"
)

// The test binary is also the process that dies: ENGINE_TEST_DO says what it does, in its folder.
func TestMain(m *testing.M) {
	disktest.Inject()
	do := strings.Fields(os.Getenv("ENGINE_TEST_DO"))
	if len(do) == 0 {
		os.Exit(enginetest.Main(m))
	}
	if err := act(do[0], do[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func act(do, name string) error {
	ctx := context.Background()
	p, err := project.Find(".")
	if err != nil {
		return err
	}
	if do == "archive" {
		_, err := runs.ArchiveRuns(ctx, p, runs.ArchiveOptions{Runs: []pawl.RunID{pawl.RunID(name)}, Keep: 0, Delete: true})
		return err
	}
	if do == "restore" || do == "undo" {
		return restoreIn(ctx, p, do, name)
	}
	store, err := runs.OpenSnapshots(ctx, p, config.Snapshots{})
	if err != nil {
		return err
	}
	target, err := history.FindCheckpoint(ctx, p, store, name)
	if err != nil {
		return err
	}
	into := history.ForkOptions{}
	if do == "fork-to" {
		into.Folder = filepath.Join(p.Root, "..", "fork")
	}
	f, err := history.PrepareFork(ctx, p, store, target, into)
	if err != nil {
		return err
	}
	if _, err := f.Do(ctx, pawl.Author{Kind: pawl.ByPerson}); err != nil {
		return err
	}
	return f.Close()
}

// restoreIn does what `pawl restore NAME` or `pawl restore --undo` does.
func restoreIn(ctx context.Context, p *project.Project, do, name string) (err error) {
	store, err := runs.OpenSnapshots(ctx, p, config.Snapshots{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	target, how := history.SavedCheckpoint{}, history.RestoreOptions{}
	if do == "undo" {
		target, how, err = history.RestoreToUndo(ctx, p, store)
	} else {
		target, err = history.FindCheckpoint(ctx, p, store, name)
	}
	if err != nil {
		return err
	}
	r, err := history.PrepareRestore(ctx, p, store, target, how)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if len(r.Changes) == 0 && r.Unfinished == nil {
		return nil
	}
	_, err = r.Do(ctx, pawl.Author{Kind: pawl.ByPerson})
	return err
}
