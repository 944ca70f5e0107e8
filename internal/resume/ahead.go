package resume

import (
	"context"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/dispatch"
	"pawl/internal/history"
	"pawl/internal/project"
	"pawl/internal/runs"
	"pawl/internal/supervise"
)

// OpenSaver opens the Saver of a run that is about to resume. If the run only waits for the judgment of one step that ended well, the walk
// for the step's checkpoint begins now. The checks that precede the engine run meanwhile; they do not change files.
func OpenSaver(ctx context.Context, p *project.Project, r *runs.Run, change *PlanDiff, cfg config.Snapshots) *history.Saver {
	saver := history.OpenSaver(ctx, p, r.State.Run, cfg)
	saver.Watch()
	if live := r.State.Live(); len(live) == 1 && !change.Edited && endedWell(p, r, live[0]) {
		saver.Ahead(ctx, live[0].Token, r.State.Seq)
	}
	return saver
}

// endedWell reports whether an attempt of a whole step has ended with success, according to its record. Recovery verifies that later.
func endedWell(p *project.Project, r *runs.Run, live *pawl.AttemptState) bool {
	step := r.Plan.Step(live.Step)
	if step == nil || live.Item != "" || step.Gate != nil || step.Service != nil || dispatch.QueueOf(step) != "" {
		return false
	}
	status, err := supervise.Probe(p.AttemptDir(live.AttemptRef, r.State.Run))
	exit := status.Exit
	return err == nil && status.State == supervise.Ended && exit.Token == live.Token && exit.Exit != nil && *exit.Exit == 0
}
