package journal_test

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/journal/journaltest"
)

func stateOf(tb testing.TB, r *run) string {
	tb.Helper()
	other := r.again(tb)
	defer other.Close()
	state, err := other.State(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	if news := other.news(tb); len(news) > 0 {
		tb.Errorf("news after the state: %q", news)
	}
	data, err := json.Marshal(state)
	if err != nil {
		tb.Fatal(err)
	}
	return string(data)
}

// TestStateFromCache caches the state at every event: going on from there gives what folding everything gives.
func TestStateFromCache(t *testing.T) {
	t.Parallel()
	r := newRun(t)
	for _, p := range []pawl.Payload{
		pawl.StepListed{Step: "s", Items: []string{"a", "b"}},
		pawl.AttemptStarted{AttemptRef: pawl.AttemptRef{Step: "s", Item: "b", Index: 1, Attempt: 1, Token: "t"}},
		pawl.ItemDone{AttemptRef: pawl.AttemptRef{Step: "s", Item: "b", Index: 1, Attempt: 1, Token: "t"}},
		pawl.GateOpened{Gate: pawl.Gate{ID: "g", Type: pawl.HumanVerify, Ask: "?"}},
		pawl.BlockerOpened{Blocker: pawl.Blocker{Text: "no key"}},
		pawl.CheckpointSaved{Checkpoint: pawl.Checkpoint{ID: "c", Kind: pawl.CheckpointManual}},
		pawl.StepDone{Step: "s"},
	} {
		r.add(t, journaltest.Event(t, p))
	}
	want := stateOf(t, r)
	state := pawl.NewState()
	for e, err := range r.Events(0) {
		if err != nil {
			t.Fatal(err)
		}
		state.Apply(e)
		if err := r.SaveState(state); err != nil {
			t.Fatal(err)
		}
		if got := stateOf(t, r); got != want {
			t.Errorf("from the cache at event %d:\n%s\nwant\n%s", e.Seq, got, want)
		}
	}
}

// TestDoubtfulCacheIsNotBelieved changes the goal in the cache, and then gives a reason to doubt it.
func TestDoubtfulCacheIsNotBelieved(t *testing.T) {
	t.Parallel()
	r := newRun(t, "one", "two")
	want := stateOf(t, r)
	state, err := r.again(t).State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	state.Goal = "from the cache"
	if err := r.SaveState(state); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(r.home(), "state.json")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(stateOf(t, r), state.Goal) {
		t.Error("a good cache is not used")
	}
	for field, value := range map[string]any{"version": 99, "seq": 2, "offset": 9, "crc": "00000000", "state": nil} {
		var cache map[string]any
		if err := json.Unmarshal(data, &cache); err != nil {
			t.Fatal(err)
		}
		cache[field] = value
		delete(cache, "sum")
		doubtful, err := json.Marshal(cache)
		if err != nil {
			t.Fatal(err)
		}
		doubtful = doubtful[:len(doubtful)-1]
		doubtful = fmt.Appendf(doubtful, `,"sum":"%08x"}`, crc32.Checksum(doubtful, crc32.MakeTable(crc32.Castagnoli)))
		for _, content := range []string{string(doubtful), string(data[:len(data)/2]), ""} {
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			if got := stateOf(t, r); got != want {
				t.Errorf("cache with %s changed: state %s", field, got)
			}
		}
	}
}

// TestFlippedCacheIsNotBelieved changes each byte of the cache: none of them may reach the state.
func TestFlippedCacheIsNotBelieved(t *testing.T) {
	t.Parallel()
	r := newRun(t, "one", "two")
	want := stateOf(t, r)
	state, err := r.again(t).State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	state.Goal = "from the cache"
	if err := r.SaveState(state); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(r.home(), "state.json")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range data {
		data[i] ^= 1
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := stateOf(t, r); got != want {
			t.Fatalf("byte %d changed: state %s", i, got)
		}
		data[i] ^= 1
	}
}
