package server

import (
	"context"
	"time"

	"pawl"
	"pawl/internal/cli/hints"
	"pawl/internal/cli/resumeview"
	"pawl/internal/cli/supply"
	"pawl/internal/config"
	"pawl/internal/engine"
	"pawl/internal/project"
	"pawl/internal/resume"
	"pawl/internal/runs"
	"pawl/internal/server/client"
)

// examineLimit is how long it may take to look at an interrupted run.
const examineLimit = 30 * time.Second

// examine looks at a run as `pawl resume --dry-run` does. It changes nothing.
func examine(ctx context.Context, p *project.Project, run pawl.RunID) (*client.Recovery, error) {
	ctx, cancel := context.WithTimeout(ctx, examineLimit)
	defer cancel()
	if err := runs.RequireOwn(p, run); err != nil {
		return nil, err
	}
	r, err := runs.LoadToContinue(ctx, p, run)
	if err != nil {
		return nil, err
	}
	defer r.Log.Close()
	cfg, err := config.Of(p)
	if err != nil {
		return nil, err
	}
	values, notes, err := supply.ForResume(p, r, supply.Flags{}, true, nil)
	if err != nil {
		return nil, err
	}
	if err := runs.RequireNoRollback(r.State); err != nil {
		return nil, err
	}
	change, err := resume.DiffPlan(p, r, values.New)
	if err == nil {
		err = resumeview.CheckResumable(r, change)
	}
	if err != nil {
		return nil, hints.For(ctx, p, run, err)
	}
	x, err := resume.Examine(ctx, p, r, change, cfg.Snapshots, p.MoveNotices(), false)
	if err != nil {
		return nil, err
	}
	steps, err := resumeview.Steps(p, r, change, x.Verdicts, hints.Namer(ctx, p, run))
	if err != nil {
		return nil, err
	}
	limit := (&engine.Config{Parallel: cfg.Parallel}).ParallelOf(change.Plan())
	return &client.Recovery{Examined: resumeview.Examined{Run: run, PlanDiff: change, Examination: x, Parallel: limit, Steps: steps}, Notes: append(notes, r.Notes...)}, nil
}
