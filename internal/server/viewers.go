package server

import (
	"slices"
	"sync"
	"time"

	"pawl/internal/server/client"
	"pawl/internal/tokens"
)

// maxViewed is how many gates the server knows the viewers of.
const maxViewed = 1000

// viewers remembers who has opened which gate. The zero value is ready to use.
type viewers struct {
	mu    sync.Mutex // guards what follows
	gates []viewed   // the one that was opened last is last
}

// viewed are the clients that have opened a gate, by the id of their token.
type viewed struct {
	gate string
	by   map[string]client.Viewer
}

// opened records that a client opens a gate. It returns the others that have opened it, the newest first, and whether the client is new.
func (v *viewers) opened(gate string, t tokens.Token, now time.Time) (others []client.Viewer, first bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	i := slices.IndexFunc(v.gates, func(x viewed) bool { return x.gate == gate })
	x := viewed{gate, map[string]client.Viewer{}}
	if i >= 0 {
		x = v.gates[i]
		v.gates = slices.Delete(v.gates, i, i+1)
	} else if len(v.gates) == maxViewed {
		v.gates = slices.Delete(v.gates, 0, 1)
	}
	_, known := x.by[t.ID]
	for id, other := range x.by {
		if id != t.ID {
			others = append(others, other)
		}
	}
	slices.SortFunc(others, func(a, b client.Viewer) int { return b.At.Compare(a.At) })
	x.by[t.ID] = client.Viewer{Name: t.Name, At: now.UTC()}
	v.gates = append(v.gates, x)
	return others, !known
}
