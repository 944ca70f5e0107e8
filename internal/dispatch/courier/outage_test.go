package courier_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"pawl"
	"pawl/internal/dispatch/courier"
	"pawl/internal/remote"
)

// outage is a store that can be made to answer nothing.
type outage struct {
	remote.Store
	down atomic.Bool
}

func (o *outage) err() error {
	if o.down.Load() {
		return fmt.Errorf("ask host: connection refused: %w", remote.ErrUnreachable)
	}
	return nil
}

func (o *outage) Get(ctx context.Context, key string, limit int64) ([]byte, error) {
	if err := o.err(); err != nil {
		return nil, err
	}
	return o.Store.Get(ctx, key, limit)
}

func (o *outage) Create(ctx context.Context, key string, content []byte) (bool, error) {
	if err := o.err(); err != nil {
		return false, err
	}
	return o.Store.Create(ctx, key, content)
}

func (o *outage) List(ctx context.Context, prefix string) ([]remote.Object, error) {
	if err := o.err(); err != nil {
		return nil, err
	}
	return o.Store.List(ctx, prefix)
}

// TestRemoteUnreachable: an outage of the remote fails no step, neither before its files are sent nor when its result is there.
func TestRemoteUnreachable(t *testing.T) {
	s := newSite(t)
	s.serve(s.worker("w1"))
	store := &outage{Store: s.store}
	a := s.attempt(1, `touch "$HERE/begun"; until test -e "$HERE/go"; do sleep 0.02; done; echo x > made.txt`)
	here := a.here()
	c := a.courier()
	c.Remote = func(context.Context) (courier.Remote, error) {
		return courier.Remote{ID: s.id, Store: store, Cache: remote.Cache(filepath.Join(s.TempDir(), "cache"))}, store.err()
	}
	said := func(times int) func() bool {
		return func() bool {
			said, err := os.ReadFile(filepath.Join(a.dir, pawl.EventsFile))
			return err == nil && strings.Count(string(said), "waiting for the remote") >= times
		}
	}
	store.down.Store(true)
	over := make(chan error, 1)
	go func() { over <- c.Run(t.Context()) }()
	a.eventually("the courier waits before it sends the files", said(1))
	store.down.Store(false)
	a.eventually("it runs", a.exists(here, "begun"))
	store.down.Store(true)
	s.check(os.WriteFile(filepath.Join(here, "go"), nil, 0o600))
	a.eventually("the courier waits for the result", said(2))
	store.down.Store(false)
	s.check(<-over)
	if exit := a.delivered(); exit.Exit == nil || *exit.Exit != 0 || s.read("made.txt") != "x\n" {
		t.Errorf("exit %+v, %q", exit, s.read("made.txt"))
	}
}
