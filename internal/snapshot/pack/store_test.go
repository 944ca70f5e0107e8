package pack

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

func TestID(t *testing.T) {
	t.Parallel()
	id := IDOf([]byte("x"))
	text, err := json.Marshal(id)
	must(t, err)
	var back ID
	must(t, json.Unmarshal(text, &back))
	if back != id || string(text) != `"2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"` {
		t.Errorf("%s → %v", text, back)
	}
	for _, bad := range []string{"", "2d71", id.String() + "00", "zz" + id.String()[2:]} {
		if _, err := ParseID(bad); err == nil {
			t.Errorf("%q is taken for an id", bad)
		}
	}
}

// TestContents puts content of all sorts and sizes, and reads it by another store.
func TestContents(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	s := fresh(t)
	b, err := s.Begin(t.Context())
	must(t, err)
	all := map[ID][]byte{}
	for _, size := range []int{0, 1, 15, tiny - 1, tiny, 1000, 4096, 30 << 10, 1 << 20, 9 << 20} {
		noise := make([]byte, size)
		for i := range noise {
			noise[i] = byte(rng.Uint32())
		}
		for _, content := range [][]byte{noise, make([]byte, size), bytes.Repeat([]byte("ab\n"), size/3)} {
			id, err := b.Put(content)
			must(t, err)
			all[id] = content
			if has, err := b.Has(id); !has || err != nil {
				t.Errorf("%d bytes: %v %v", size, has, err)
			}
			if has, err := s.Has(id); has || err != nil {
				t.Errorf("%d bytes are there before the commit: %v", size, err)
			}
		}
	}
	if objects, n := b.Added(); objects != len(all) || n < 10<<20 || n > 11<<20 {
		t.Errorf("%d objects, %d bytes", objects, n)
	}
	record := []byte("record")
	id, err := b.Commit(t.Context(), record)
	if err != nil || id != IDOf(record) {
		t.Fatal(id, err)
	}
	for _, s := range []*Store{s, open(t, s.dir)} {
		for id, content := range all {
			if got, err := s.Get(id); err != nil || !bytes.Equal(got, content) {
				t.Errorf("%d bytes: %d bytes, %v", len(content), len(got), err)
			}
		}
		if commits, err := s.Commits(); err != nil || len(commits) != 1 || commits[0].ID != id || string(commits[0].Content) != "record" {
			t.Errorf("%v %v", commits, err)
		}
		if _, err := s.Get(id); !isMissing(err) || !isDamage(err) {
			t.Errorf("a record is no object: %v", err)
		}
		sound(t, s)
	}
}

// TestEqualContentCostsNothing puts the same again, by the same store and by another.
func TestEqualContentCostsNothing(t *testing.T) {
	t.Parallel()
	s := fresh(t, set{"a", 10, 3000})
	before, err := s.Size()
	must(t, err)
	for _, s := range []*Store{s, open(t, s.dir)} {
		b, err := s.Begin(t.Context())
		must(t, err)
		for _, content := range (set{"a", 10, 3000}).objects() {
			_, err := b.Put(content)
			must(t, err)
		}
		if objects, n := b.Added(); objects != 0 || n != 0 {
			t.Errorf("%d objects, %d bytes are new", objects, n)
		}
		_, err = b.Commit(t.Context(), set{"a", 10, 3000}.record())
		must(t, err)
	}
	if after, err := s.Size(); err != nil || after-before > 300 {
		t.Errorf("from %d to %d bytes: %v", before, after, err)
	}
	if got := names(t, s); !slices.Equal(got, []string{"a"}) {
		t.Errorf("%q, want the record once", got)
	}
}

func TestManyGoroutines(t *testing.T) {
	t.Parallel()
	s := fresh(t)
	var all sync.WaitGroup
	for g := range 4 { // each batch from two goroutines that put the same, while others read
		b, err := s.Begin(t.Context())
		must(t, err)
		c := set{fmt.Sprint("g", g), 40, 2000}
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				for _, content := range c.objects() {
					if _, err := b.Put(content); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Go(func() {
			both.Wait()
			if _, err := b.Commit(t.Context(), c.record()); err != nil {
				t.Error(err)
			}
			if err := c.complete(s); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got := names(t, s); len(got) != 4 {
		t.Errorf("%q, want four", got)
	}
	sound(t, s)
}

// TestPutTogether has goroutines put other objects into one batch, so that some are put while others are written.
func TestPutTogether(t *testing.T) {
	t.Parallel()
	s := fresh(t)
	b, err := s.Begin(t.Context())
	must(t, err)
	var sets []set
	var all sync.WaitGroup
	for g := range 4 {
		c := set{fmt.Sprint("g", g), 400, 700}
		sets = append(sets, c)
		all.Go(func() {
			for _, content := range c.objects() {
				if _, err := b.Put(content); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	_, err = b.Commit(t.Context(), []byte("together"))
	must(t, err)
	for _, c := range sets {
		for i, content := range c.objects() {
			if got, err := s.Get(IDOf(content)); err != nil || !bytes.Equal(got, content) {
				t.Errorf("object %d of %s: %v", i, c.name, err)
			}
		}
	}
	sound(t, s)
}

func TestOver(t *testing.T) {
	t.Parallel()
	s := fresh(t)
	b, err := s.Begin(t.Context())
	must(t, err)
	id, err := b.Put([]byte("given up"))
	must(t, err)
	must(t, b.Abort())
	must(t, b.Abort())
	if _, err := b.Put([]byte("x")); !errors.Is(err, ErrBatchEnded) {
		t.Error(err)
	}
	if _, err := b.Commit(t.Context(), []byte("x")); !errors.Is(err, ErrBatchEnded) {
		t.Error(err)
	}
	if _, err := s.Get(id); !isMissing(err) {
		t.Error(err)
	}
	if b, err = s.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Put(make([]byte, MaxObject+1)); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
	if _, err := b.Commit(t.Context(), make([]byte, MaxRecord+1)); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
	must(t, s.Close())
	must(t, s.Close())
	if _, err := s.Get(id); !errors.Is(err, errClosed) {
		t.Error(err)
	}
	if _, err := s.Begin(t.Context()); !errors.Is(err, errClosed) {
		t.Error(err)
	}
	works(t, s.dir)
}

// TestWaiting has Prune and Repair wait for a hold and a batch, and those wait for Prune, until their context ends.
func TestWaiting(t *testing.T) {
	t.Parallel()
	s := fresh(t, set{"a", 3, 100})
	over, cancel := context.WithCancelCause(t.Context())
	why := errors.New("not that patient")
	cancel(why)
	release, err := s.Hold(t.Context())
	must(t, err)
	if _, err := keeping(over, s, even); !errors.Is(err, why) {
		t.Error(err)
	}
	if _, err := s.Repair(over); !errors.Is(err, why) {
		t.Error(err)
	}
	must(t, release())
	must(t, release())
	b, err := s.Begin(t.Context())
	must(t, err)
	if _, err := s.Repair(over); !errors.Is(err, why) {
		t.Error(err)
	}
	must(t, b.Abort())
	_, err = s.Prune(t.Context(), func(commits []Commit) (map[ID]bool, map[ID]bool, error) {
		if _, err := s.Begin(over); !errors.Is(err, why) {
			t.Error(err)
		}
		if _, err := s.Hold(over); !errors.Is(err, why) {
			t.Error(err)
		}
		if _, err := s.Get(IDOf((set{"a", 3, 100}).objects()[1])); err != nil {
			t.Error(err)
		}
		return nil, nil, why
	})
	if !errors.Is(err, why) {
		t.Error(err)
	}
	works(t, s.dir, "a")
}

func TestProcessesCommitSideBySide(t *testing.T) {
	t.Parallel()
	s := fresh(t, set{"a", 3, 100})
	var all sync.WaitGroup
	want := []string{"a"}
	for i, do := range []string{"small", "small", "large", "small", "large"} {
		name := fmt.Sprint(do, i, "-")
		count := map[string]int{"small": 4, "large": 2}[do]
		for n := range count {
			want = append(want, fmt.Sprint(name, n))
		}
		all.Go(func() {
			said := tell(t, another(t, s.dir, do+" "+name))
			if len(said.done) != count || len(said.errors) > 0 {
				t.Errorf("%s: %v", name, said)
			}
		})
	}
	for i := range 10 {
		c := set{fmt.Sprint("us", i), 5, 900}
		must(t, c.commit(t.Context(), s))
		want = append(want, c.name)
	}
	all.Wait()
	got := names(t, s)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	works(t, s.dir, want...)
}

// TestCommit finds each record by its ID, also one that another store has added since, and nothing else.
func TestCommit(t *testing.T) {
	t.Parallel()
	s := fresh(t, set{"a", 3, 100}, set{"b", 3, 100})
	must(t, set{"c", 3, 100}.commit(t.Context(), open(t, s.dir)))
	for _, c := range []set{{"a", 3, 100}, {"b", 3, 100}, {"c", 3, 100}} {
		if got, err := s.Commit(IDOf(c.record())); err != nil || !bytes.Equal(got, c.record()) {
			t.Errorf("%s: %q, %v", c.name, got, err)
		}
	}
	for _, other := range [][]byte{[]byte("absent"), set{"a", 3, 100}.objects()[1]} {
		if got, err := s.Commit(IDOf(other)); !isMissing(err) {
			t.Errorf("%q, %v", got, err)
		}
	}
}

// TestOpensInNoTime counts what opening reads: the index's head, and nothing of the packs.
func TestOpensInNoTime(t *testing.T) {
	t.Parallel()
	s := fresh(t, set{"a", 60, 2000})
	other := open(t, s.dir)
	if len(other.view.tail) > 0 || other.view.index == nil || other.view.index.entries != 60 {
		t.Errorf("%d objects read from the packs, index %v", len(other.view.tail), other.view.index)
	}
	if got, err := filepath.Glob(filepath.Join(s.dir, "*")); err != nil || len(got) > 8 {
		t.Errorf("%q %v", got, err)
	}
}
