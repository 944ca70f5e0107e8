package server

import (
	"context"
	"sync"
)

// exclusive lets one caller at a time work on a name. The zero value is ready to use.
type exclusive struct {
	mu   sync.Mutex               // guards what follows
	held map[string]chan struct{} // closed when the name is released
}

// acquire waits for its turn to work on a name. ok is false if ctx ends first.
func (x *exclusive) acquire(ctx context.Context, name string) (release func(), ok bool) {
	for {
		x.mu.Lock()
		other := x.held[name]
		if other == nil {
			if x.held == nil {
				x.held = map[string]chan struct{}{}
			}
			mine := make(chan struct{})
			x.held[name] = mine
			x.mu.Unlock()
			return func() {
				x.mu.Lock()
				defer x.mu.Unlock()
				delete(x.held, name)
				close(mine)
			}, true
		}
		x.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, false
		}
	}
}
