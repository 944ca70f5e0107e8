package remote_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"pawl/internal/dispatch/order"
	"pawl/internal/remote"
	"pawl/internal/snapshot/pack"
)

// TestPruneKeepsTasks: what a step on a worker needs stays for 30 days.
func TestPruneKeepsTasks(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	_, err := remote.Prepare(t.Context(), s)
	must(t, err)
	w := remote.NewWriter(s, "")
	id, encoded, err := pack.Encode([]byte("a file of a step"))
	must(t, err)
	must(t, w.Add(t.Context(), id, encoded))
	must(t, w.Flush(t.Context()))
	order, err := json.Marshal(map[string]any{"packs": w.Packs})
	must(t, err)
	for key, content := range map[string][]byte{remote.TaskPrefix + string(run) + "/0123.order.json": order, remote.OutputPrefix + "0123/out.log-000000000000000": []byte("x")} {
		if _, err := s.Create(t.Context(), key, content); err != nil {
			t.Fatal(err)
		}
	}
	count := func(prefix string) int {
		there, err := s.List(t.Context(), prefix)
		must(t, err)
		return len(there)
	}
	now := time.Now()
	for _, after := range []time.Duration{0, 2 * time.Hour, 29 * 24 * time.Hour} {
		_, err := remote.Prune(t.Context(), s, time.Hour, now.Add(after))
		must(t, err)
		if count(remote.TaskPrefix) != 1 || count(remote.OutputPrefix) != 1 || count("packs/") != 1 || count("marks/") != 0 {
			t.Fatalf("after %s: something is deleted or marked", after)
		}
	}
	for _, after := range []time.Duration{31 * 24 * time.Hour, 31*24*time.Hour + time.Minute, 32 * 24 * time.Hour} {
		_, err := remote.Prune(t.Context(), s, time.Hour, now.Add(after))
		must(t, err)
	}
	if count(remote.TaskPrefix)+count(remote.OutputPrefix)+count("packs/")+count("marks/") != 0 {
		t.Error("something stays for ever")
	}
}

// dying is a store whose process dies after some deletions.
type dying struct {
	remote.Store
	left int
}

func (d *dying) Delete(ctx context.Context, key string) error {
	if d.left--; d.left < 0 {
		return context.Canceled
	}
	return d.Store.Delete(ctx, key)
}

// TestPruneOfClaims: wherever a prune dies, a task that still has its order still has its claim. So no worker starts it a second time.
func TestPruneOfClaims(t *testing.T) {
	t.Parallel()
	for left := range 4 {
		s := newStore(t)
		_, err := remote.Prepare(t.Context(), s)
		must(t, err)
		const token = "0123"
		claim, ordered := order.ClaimKey(run, token), order.OrderKey(run, token)
		for _, key := range []string{ordered, order.ResultKey(run, token), claim} {
			_, err := s.Create(t.Context(), key, []byte("{}"))
			must(t, err)
		}
		_, err = remote.Prune(t.Context(), &dying{s, left}, time.Hour, time.Now().Add(31*24*time.Hour))
		if (err != nil) != (left < 3) {
			t.Errorf("%d deletions: %v", left, err)
		}
		_, errClaim := s.Get(t.Context(), claim, 10)
		_, errOrder := s.Get(t.Context(), ordered, 10)
		if errClaim != nil && errOrder == nil {
			t.Errorf("after %d deletions, the order is there and the claim is not", left)
		}
	}
}
