package runs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/project"
)

// markerLimit is above the length of every run ID.
const markerLimit = 1 << 10

// MarkRestore records which run's journal is about to get the intent of a restore, so that UnfinishedRestore need not read
// all runs. The marker alone means nothing: without the intent in the journal there is no restore.
func MarkRestore(p *project.Project, run pawl.RunID) error {
	return disk.Replace(p.RestoreMarker(), []byte(string(run)+"\n"))
}

// UnmarkRestore removes the marker after the journal has the end of the restore.
func UnmarkRestore(p *project.Project) error { return disk.Remove(p.RestoreMarker()) }

// UnfinishedRestore returns the project's unfinished restore and the run whose journal has it; nil for none.
func UnfinishedRestore(ctx context.Context, p *project.Project) (*pawl.RestoreState, pawl.RunID, error) {
	data, err := disk.ReadFile(p.RestoreMarker(), markerLimit)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	run, ok := parseMarker(data)
	if !ok || !Claimed(p, run) {
		return nil, "", nil
	}
	s, err := LoadState(ctx, p, run)
	if errors.Is(err, pawl.ErrNoRun) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	return s.Restore, run, nil
}

// parseMarker returns the run that a marker names.
func parseMarker(data []byte) (pawl.RunID, bool) {
	text, whole := strings.CutSuffix(string(data), "\n")
	run, err := pawl.ParseRunID(text)
	return run, whole && err == nil
}

// RequireNoRestore fails if a restore is unfinished: the files are a mix of two checkpoints.
func RequireNoRestore(ctx context.Context, p *project.Project) error {
	r, _, err := UnfinishedRestore(ctx, p)
	if err != nil || r == nil {
		return err
	}
	return unfinishedRestoreError(r)
}

func unfinishedRestoreError(r *pawl.RestoreState) error {
	return &pawl.Error{Kind: pawl.KindDamaged, Hint: "pawl restore", Err: errors.New(UnfinishedRestoreText(r))}
}

// UnfinishedRestoreText says which restore is unfinished, and how to finish or undo it.
func UnfinishedRestoreText(r *pawl.RestoreState) string {
	if r.Undo {
		return fmt.Sprintf("undoing a restore is unfinished (checkpoint %s has the files before it); `pawl restore` finishes it", r.Before)
	}
	return fmt.Sprintf("the restore of checkpoint %s is unfinished; `pawl restore` finishes it, `pawl restore --undo` returns to the files before it (checkpoint %s)", r.Checkpoint, r.Before)
}
