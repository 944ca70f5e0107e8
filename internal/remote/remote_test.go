package remote_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pawl"
	"pawl/internal/remote"
	"pawl/internal/remote/folder"
	"pawl/internal/remote/remotetest"
	"pawl/internal/snapshot/pack"
)

const run = pawl.RunID("demo-20260101-000000-abcd")

// conditional is the identity of a remote whose server honors conditions.
var conditional remote.Identity

func newStore(t *testing.T) *remotetest.Counter {
	t.Helper()
	s, err := folder.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &remotetest.Counter{Store: s}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// store pushes a file as the number-th push of the run, and returns the record.
func store(t *testing.T, s remote.Store, number int, content string, on remote.Identity) *remote.Record {
	t.Helper()
	w := remote.NewWriter(s, "")
	id, encoded, err := pack.Encode([]byte(content))
	must(t, err)
	must(t, w.Add(t.Context(), id, encoded))
	must(t, w.Flush(t.Context()))
	r := &remote.Record{
		Run: run, Number: number, Packs: w.Packs, Time: time.Now(),
		Files: []remote.File{{Name: "journal.jsonl", Parts: []remote.Part{{ID: id, Size: int64(len(content))}}}},
	}
	data, err := r.Encode()
	must(t, err)
	if err := r.Commit(t.Context(), s, data, on); err != nil && !on.Unconditional {
		t.Fatal(err)
	}
	return r
}

func TestCommitOnce(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	_, err := remote.Prepare(t.Context(), s)
	must(t, err)
	first := store(t, s, 1, "one", conditional)
	data, err := first.Encode()
	must(t, err)
	if err := first.Commit(t.Context(), s, data, conditional); !errors.Is(err, remote.ErrPushed) {
		t.Errorf("committed twice: %v", err)
	}
	store(t, s, 2, "two", conditional)
	must(t, s.Delete(t.Context(), "runs/"+string(run)+"/000001.json"))
	if err := first.Commit(t.Context(), s, data, conditional); !errors.Is(err, remote.ErrPushed) {
		t.Errorf("committed below a newer one: %v", err)
	}
	newest, err := remote.Newest(t.Context(), s, run)
	if err != nil || newest.Number != 2 {
		t.Errorf("%+v, %v", newest, err)
	}
}

// TestPruneAtEveryCall: a prune that fails at any call deletes nothing that a record needs, and the next one completes it.
func TestPruneAtEveryCall(t *testing.T) {
	t.Parallel()
	for n := 1; ; n++ {
		s := newStore(t)
		_, err := remote.Prepare(t.Context(), s)
		must(t, err)
		store(t, s, 1, "old", conditional)
		store(t, s, 2, "new", conditional)
		now := time.Now()
		if _, err := remote.Prune(t.Context(), s, time.Hour, now); err != nil {
			t.Fatal(err)
		}
		calls := 0
		s.Before = func(string, string) error {
			if calls++; calls == n {
				return errors.New("unplugged")
			}
			return nil
		}
		_, failed := remote.Prune(t.Context(), s, time.Hour, now.Add(2*time.Hour))
		s.Before = nil
		whole(t, s)
		_, err = remote.Prune(t.Context(), s, time.Hour, now.Add(2*time.Hour))
		must(t, err)
		_, err = remote.Prune(t.Context(), s, time.Hour, now.Add(4*time.Hour))
		must(t, err)
		whole(t, s)
		for prefix, want := range map[string]int{"packs/": 1, "indexes/": 1, "marks/": 0} {
			if there, err := s.List(t.Context(), prefix); err != nil || len(there) != want {
				t.Errorf("%d: %s: %v, %v", n, prefix, there, err)
			}
		}
		if failed == nil {
			if n < 8 {
				t.Errorf("only %d calls", n-1)
			}
			return
		}
	}
}

func whole(t *testing.T, s remote.Store) {
	t.Helper()
	findings, err := remote.Verify(t.Context(), s)
	must(t, err)
	for _, f := range findings {
		if f.Level == pawl.Bad {
			t.Errorf("%+v", f)
		}
	}
}

// TestGrace: what was marked is deleted after the grace period, counted from the first prune that saw it unneeded.
func TestGrace(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	_, err := remote.Prepare(t.Context(), s)
	must(t, err)
	store(t, s, 1, "old", conditional)
	store(t, s, 2, "new", conditional)
	now := time.Now()
	for _, step := range []struct {
		after           time.Duration
		marked, deleted int
	}{{0, 1, 0}, {23 * time.Hour, 1, 0}, {25 * time.Hour, 0, 1}, {50 * time.Hour, 0, 0}} {
		pruned, err := remote.Prune(t.Context(), s, 24*time.Hour, now.Add(step.after))
		if err != nil || pruned.Marked != step.marked || pruned.Deleted != step.deleted || pruned.Kept != 1 {
			t.Errorf("after %s: %+v, %v", step.after, pruned, err)
		}
	}
}

// TestVerifyFindsEverything: whatever is missing or changed, verify says so.
func TestVerifyFindsEverything(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	_, err := remote.Prepare(t.Context(), s)
	must(t, err)
	store(t, s, 1, strings.Repeat("content ", 100), conditional)
	there, err := s.List(t.Context(), "")
	must(t, err)
	for _, o := range there {
		if o.Key == "pawl-remote.json" {
			continue
		}
		data, err := s.Get(t.Context(), o.Key, o.Size)
		must(t, err)
		data = bytes.TrimSuffix(data, []byte("\n")) // without it, a record is as good
		for what, changed := range map[string][]byte{
			"shorter": data[:len(data)-1], "longer": append(append([]byte{}, data...), 'x'), "empty": nil,
			"flipped": append([]byte{data[0] ^ 1}, data[1:]...), "missing": {},
		} {
			must(t, s.Delete(t.Context(), o.Key))
			if what != "missing" {
				_, err := s.Create(t.Context(), o.Key, changed)
				must(t, err)
			} else if strings.HasPrefix(o.Key, "runs/") {
				continue // the run is not there
			}
			findings, err := remote.Verify(t.Context(), s)
			must(t, err)
			bad := 0
			for _, f := range findings {
				if f.Level == pawl.Bad {
					bad++
				}
			}
			if bad == 0 {
				t.Errorf("%s %s: %+v", o.Key, what, findings)
			}
		}
		must(t, s.Delete(t.Context(), o.Key))
		_, err = s.Create(t.Context(), o.Key, data)
		must(t, err)
	}
	whole(t, s)
}

// TestReaderChecksObjects: an index that names the wrong bytes gives an error, never other content.
func TestReaderChecksObjects(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	r := store(t, s, 1, "content", conditional)
	reader := remote.NewReader(s, "", r.Packs)
	for _, id := range []pack.ID{pack.IDOf([]byte("other")), {}} {
		if data, err := reader.Content(t.Context(), id, 100); err == nil {
			t.Errorf("%s", data)
		}
	}
	if _, err := reader.Content(t.Context(), r.Files[0].Parts[0].ID, 3); err == nil {
		t.Error("over the limit")
	}
	file := r.Files[0]
	file.Parts = []remote.Part{{ID: file.Parts[0].ID, Size: 8}}
	if _, err := reader.File(t.Context(), file); err == nil || !strings.Contains(fmt.Sprint(err), "7 bytes, not 8") {
		t.Errorf("%v", err)
	}
}
