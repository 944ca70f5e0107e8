package remote_test

import (
	"encoding/json"
	"testing"
	"time"

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
