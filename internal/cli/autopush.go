package cli

import (
	"context"
	"time"

	"pawl"
	"pawl/internal/engine"
	"pawl/internal/project"
	"pawl/internal/transfer"
)

// lastPush is how long the push at the end of an engine may take.
const lastPush = time.Minute

// autoPush pushes the run of an engine, as it goes on, to the remotes that the user added with --auto.
type autoPush struct {
	a      *app
	notice func(string)
	pusher *transfer.Pusher
}

// autoPush makes an engine's configuration wake an autoPush.
func (a *app) autoPush(cfg *engine.Config) *autoPush {
	x := &autoPush{a: a, notice: cfg.Notice}
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

func (x *autoPush) begin(ctx context.Context, p *project.Project, run pawl.RunID) {
	var err error
	x.pusher, err = transfer.StartPusher(ctx, p, run, transfer.PushOptions{By: x.a.author(), Version: x.a.version}, x.notice)
	if err != nil {
		x.notice("not pushed: " + err.Error())
	}
}

func (x *autoPush) end(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastPush)
	defer cancel()
	x.pusher.Close(ctx)
}
