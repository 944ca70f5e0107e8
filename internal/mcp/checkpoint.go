package mcp

import (
	"context"
	"errors"
	"fmt"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/history"
	"pawl/internal/snapshot"
)

// checkpointIn is what checkpoint takes.
type checkpointIn struct {
	Why string `json:"why,omitempty" jsonschema:"what it is for, such as: before the big refactoring"`
}

// checkpointOut is what checkpoint answers.
type checkpointOut struct {
	recorded
	Checkpoint pawl.CheckpointID `json:"checkpoint,omitempty" jsonschema:"its id; left out inside a step, whose engine takes it within a second"`
	Files      int               `json:"files,omitempty" jsonschema:"how many files it has"`
	Bytes      int64             `json:"bytes,omitempty" jsonschema:"of all files"`
	LeftOut    int               `json:"left_out,omitempty" jsonschema:"how many names it has not: what git or .pawlignore ignores"`
}

func (s *Server) checkpoint(ctx context.Context, c call, in checkpointIn) (answer[checkpointOut], error) {
	if step := s.step; step != nil {
		at, err := s.record(ctx, c.by, pawl.Line{Checkpoint: &pawl.Checkpoint{Why: in.Why}}, nil, nil)
		return answer[checkpointOut]{text: at.String() + "; its engine takes the checkpoint", data: checkpointOut{recorded: at}}, err
	}
	saved, err := s.save(ctx, c.by, in.Why)
	if err != nil {
		return answer[checkpointOut]{}, err
	}
	p, r, err := s.open(ctx, string(saved.Run))
	if err != nil {
		return answer[checkpointOut]{}, err
	}
	s.refresh(ctx, p, r)
	out := checkpointOut{
		recorded: recorded{Run: saved.Run, Notes: s.notes(r)}, Checkpoint: saved.ID,
		Files: saved.Snapshot.Files, Bytes: saved.Snapshot.Bytes, LeftOut: saved.Snapshot.LeftOut,
	}
	text := fmt.Sprintf("checkpoint %s of run %s: %d files, %d bytes, %d left out; a person brings it back with `pawl restore %s`",
		out.Checkpoint, out.Run, out.Files, out.Bytes, out.LeftOut, out.Checkpoint)
	return answer[checkpointOut]{text: text + out.Notes.String(), data: out}, r.Log.Close()
}

// save takes a checkpoint, in a project that is made where there is none.
func (d *desk) save(ctx context.Context, by pawl.Author, why string) (history.SavedCheckpoint, error) {
	p, err := d.projectOrInit()
	if err != nil {
		return history.SavedCheckpoint{}, err
	}
	c, err := config.Read(p.Config())
	if err != nil {
		return history.SavedCheckpoint{}, err
	}
	run, err := d.runToTell(ctx, p)
	if err != nil {
		return history.SavedCheckpoint{}, err
	}
	saved, err := history.SaveNow(ctx, p, run, c.Snapshots, by, why)
	if errors.Is(err, snapshot.ErrQuota) {
		err = &pawl.Error{Kind: pawl.KindUsage, Err: err, Hint: "pawl prune"}
	}
	return saved, err
}
