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

// checkpointIn is the input of checkpoint.
type checkpointIn struct {
	Why string `json:"why,omitempty" jsonschema:"reason, such as: before the big refactoring"`
}

// checkpointOut is the output of checkpoint.
type checkpointOut struct {
	recorded
	Checkpoint pawl.CheckpointID `json:"checkpoint,omitempty" jsonschema:"checkpoint id; absent inside a step, whose engine saves the checkpoint within a second"`
	Files      int               `json:"files,omitempty" jsonschema:"number of files"`
	Bytes      int64             `json:"bytes,omitempty" jsonschema:"total size of the files"`
	LeftOut    int               `json:"left_out,omitempty" jsonschema:"number of paths that git or .pawlignore ignores"`
}

func (s *Server) checkpoint(ctx context.Context, c call, in checkpointIn) (answer[checkpointOut], error) {
	if step := s.step; step != nil {
		at, err := s.record(ctx, c.by, pawl.Line{Checkpoint: &pawl.Checkpoint{Why: in.Why}}, nil, nil)
		at.Next = "continue; the engine of the run saves the checkpoint within a second"
		return answer[checkpointOut]{text: at.text(), data: checkpointOut{recorded: at}}, err
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
	out.Next = fmt.Sprintf("continue; a person returns to these files with `pawl restore %s`", out.Checkpoint)
	text := fmt.Sprintf("saved checkpoint %s of run %s: %s, %s, %d ignored",
		out.Checkpoint, out.Run, plural(out.Files, "file", "files"), plural(int(out.Bytes), "byte", "bytes"), out.LeftOut)
	return answer[checkpointOut]{text: text + out.advice.String() + out.Notes.String(), data: out}, r.Log.Close()
}

// save saves a checkpoint. If there is no project, it initializes one.
func (d *toolContext) save(ctx context.Context, by pawl.Author, why string) (history.SavedCheckpoint, error) {
	p, err := d.projectOrInit()
	if err != nil {
		return history.SavedCheckpoint{}, err
	}
	if p.Linked != "" {
		return history.SavedCheckpoint{}, &pawl.Error{
			Kind: pawl.KindUsage,
			Err:  fmt.Errorf("checkpoints hold the files of %s only, and %s is a linked worktree of it: commit your work with git instead", p.Root, p.Linked),
		}
	}
	c, err := config.Of(p)
	if err != nil {
		return history.SavedCheckpoint{}, err
	}
	run, err := d.targetRun(ctx, p)
	if err != nil {
		return history.SavedCheckpoint{}, err
	}
	saved, err := history.SaveNow(ctx, p, run, c.Snapshots, by, why)
	if errors.Is(err, snapshot.ErrQuota) {
		err = &pawl.Error{Kind: pawl.KindUsage, Err: err, Hint: "pawl prune"}
	}
	return saved, err
}
