package transfer

import (
	"context"
	"fmt"
	"time"

	"pawl"
	"pawl/internal/project"
	"pawl/internal/snapshot"
)

// Pusher pushes a run in the background to the remotes of the project whose Auto is set.
type Pusher struct {
	project *project.Project
	run     pawl.RunID
	names   []string // of the remotes
	options PushOptions
	notice  func(string)

	wake chan struct{}
	last chan context.Context // of the last push, after which the Pusher ends
	done chan struct{}
}

// rest is how many times as long as a push took the Pusher waits before the next one. So it takes at most a fifth of the time.
const rest = 4

// StartPusher returns nil if no remote is to be pushed to. notice tells the user what failed, and is called from another goroutine.
func StartPusher(ctx context.Context, p *project.Project, run pawl.RunID, o PushOptions, notice func(string)) (*Pusher, error) {
	all, err := Remotes(p)
	if err != nil {
		return nil, err
	}
	x := &Pusher{project: p, run: run, options: o, notice: notice, wake: make(chan struct{}, 1), last: make(chan context.Context), done: make(chan struct{})}
	for _, r := range all {
		if r.Auto {
			x.names = append(x.names, r.Name)
		}
	}
	if x.names == nil {
		return nil, nil
	}
	go x.work(ctx)
	return x, nil
}

// Wake makes the Pusher push what is new. It does not block.
func (x *Pusher) Wake() {
	if x == nil {
		return
	}
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

// Close pushes what is new, and ends the Pusher. The push ends with ctx.
func (x *Pusher) Close(ctx context.Context) {
	if x == nil {
		return
	}
	x.last <- ctx
	<-x.done
}

func (x *Pusher) work(ctx context.Context) {
	defer close(x.done)
	ready := time.NewTimer(0)
	defer ready.Stop()
	failed := map[string]string{}
	wake := x.wake
	for {
		select {
		case <-ready.C:
			wake = x.wake
		case <-wake:
			began := time.Now()
			x.pushAll(ctx, failed)
			wake = nil
			ready.Reset(rest * time.Since(began))
		case last := <-x.last:
			x.pushAll(last, failed)
			return
		}
	}
}

// pushAll pushes to each remote. It reports an error once.
func (x *Pusher) pushAll(ctx context.Context, failed map[string]string) {
	for _, name := range x.names {
		text := ""
		if err := x.push(ctx, name); err != nil {
			text = err.Error()
		}
		if text != "" && text != failed[name] {
			x.notice(fmt.Sprintf("not pushed to remote %s: %s", name, text))
		}
		failed[name] = text
	}
}

func (x *Pusher) push(ctx context.Context, name string) error {
	return With(ctx, x.project, name, func(to *Connection, store *snapshot.Store) error {
		_, err := to.Push(ctx, x.run, store, x.options)
		return err
	})
}
