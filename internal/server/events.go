package server

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"pawl/internal/tokens"
)

const (
	beatEvery   = 15 * time.Second // so that proxies and clients see that the stream is alive
	writeLimit  = 10 * time.Second // for a client to take what is sent
	reconnectMS = 2000             // how long a client waits before it reconnects
)

type followInput struct {
	Last string `header:"Last-Event-ID" doc:"id of the last event that the client has; the stream continues after it" maxLength:"32"`
}

func (a *api) eventRoutes(h huma.API) {
	stream(h, route{
		id: "follow-changes", method: http.MethodGet, path: "/api/events", right: tokens.Read,
		summary: "Follow the changes of all projects: events project, run, gate, and reset if the client is too far behind", errors: []int{http.StatusServiceUnavailable},
	}, "text/event-stream", func(_ context.Context, in *followInput) (func(huma.Context), error) {
		leave, ok := a.hub.join()
		if !ok {
			return nil, problem(http.StatusServiceUnavailable, fmt.Sprintf("%d clients follow the changes already", maxStreams), "")
		}
		cursor := a.hub.newest()
		if in.Last != "" {
			var err error
			if cursor, err = strconv.ParseInt(in.Last, 10, 64); err != nil {
				cursor = -1 // reset
			}
		}
		return func(ctx huma.Context) {
			defer leave()
			r, w := humago.Unwrap(ctx)
			a.follow(r, w, cursor)
		}, nil
	})
}

// follow sends the events after one until the client leaves, its token ends, or the server does.
func (a *api) follow(r *http.Request, w http.ResponseWriter, cursor int64) {
	to := http.NewResponseController(w)
	send := func(format string, args ...any) error {
		if err := to.SetWriteDeadline(time.Now().Add(writeLimit)); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, format, args...); err != nil {
			return err
		}
		return to.Flush()
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	if to.SetReadDeadline(time.Time{}) != nil || send("retry: %d\n\n", reconnectMS) != nil {
		return
	}
	beat := time.NewTicker(beatEvery)
	defer beat.Stop()
	for {
		events, next, reset, changed, open := a.hub.after(cursor)
		if !open {
			return
		}
		if reset && send("id: %d\nevent: reset\ndata: {}\n\n", next) != nil {
			return
		}
		for _, e := range events {
			if send("id: %d\nevent: %s\ndata: %s\n\n", e.id, e.kind, e.data) != nil {
				return
			}
		}
		cursor = next
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		case now := <-beat.C:
			if _, refused := a.identify(r, now); refused != nil || send(": beat\n\n") != nil {
				return
			}
		}
	}
}
