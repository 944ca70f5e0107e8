package remotecmd

import (
	"context"
	"slices"
	"time"

	"pawl"
	"pawl/internal/engine"
	"pawl/internal/project"
	"pawl/internal/resume"
	"pawl/internal/transfer"
)

// lastPush is how long the push at the end of an engine may take.
const lastPush = time.Minute

// AutoPush pushes the run of an engine, while the engine works, to the remotes that the user added with --auto.
type AutoPush struct {
	notice func(string)
	pusher *transfer.Pusher
}

// NewAutoPush makes the events of an engine wake an AutoPush.
func NewAutoPush(cfg *engine.Config) *AutoPush {
	x := &AutoPush{notice: cfg.Notice}
	notify := cfg.Notify
	cfg.Notify = func(e pawl.Event) {
		notify(e)
		switch e.Type {
		case pawl.StepDone{}.Event(), pawl.CheckpointSaved{}.Event(), pawl.GateOpened{}.Event():
			x.pusher.Wake()
		}
	}
	return x
}

// Begin takes over a run that was pulled, and begins to push it. It comes before the engine's first event. examined is what the user
// confirmed; nil for a new run.
func (x *AutoPush) Begin(ctx context.Context, p *project.Project, run pawl.RunID, examined *resume.Examination, o transfer.PushOptions) error {
	if examined != nil {
		ctx, cancel := context.WithTimeout(ctx, lastPush)
		defer cancel()
		confirmed := func(name string) bool {
			return slices.ContainsFunc(examined.Unsafe(), func(f pawl.Finding) bool { return f.Where == transfer.Place(name) })
		}
		if err := transfer.TakeOver(ctx, p, run, o, confirmed); err != nil {
			return err
		}
	}
	var err error
	if x.pusher, err = transfer.StartPusher(ctx, p, run, o, x.notice); err != nil {
		x.notice("not pushed: " + err.Error())
	}
	return nil
}

// End pushes what is new, even if ctx is done.
func (x *AutoPush) End(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastPush)
	defer cancel()
	x.pusher.Close(ctx)
}
