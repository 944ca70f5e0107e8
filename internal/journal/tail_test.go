package journal_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"pawl"
	"pawl/internal/journal"
	"pawl/internal/journal/journaltest"
)

// long is a journal that is longer than what Add looks at.
func long(t *testing.T) *run {
	r := newRun(t)
	for i := range 50 {
		var batch []pawl.Event
		for j := range 10 {
			batch = append(batch, journaltest.Text(t, fmt.Sprintf("%d-%d %s", i, j, strings.Repeat("x", 1000))))
		}
		r.add(t, batch...)
	}
	return r
}

func (r *run) addFromOutside(t *testing.T, texts ...string) error {
	t.Helper()
	var events []pawl.Event
	for _, text := range texts {
		events = append(events, journaltest.Text(t, text))
	}
	return journal.Add(t.Context(), r.folder, runID, events...)
}

func TestAdd(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]*run{"short": newRun(t, "a"), "long": long(t)} {
		before := len(r.texts(t))
		if err := errors.Join(r.addFromOutside(t, "b", "c"), r.addFromOutside(t, "d")); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		r.add(t, journaltest.Text(t, "e"))
		equal(t, name, r.again(t).texts(t)[before:], "b", "c", "d", "e")
	}
}

// TestAddTogether has many add at once, while a Log that reads all appends too.
func TestAddTogether(t *testing.T) {
	t.Parallel()
	r := long(t)
	before := len(r.texts(t))
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 20 {
				if err := r.addFromOutside(t, fmt.Sprintf("%d-%d", i, j)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 20 {
		r.add(t, journaltest.Text(t, "mine"))
	}
	all.Wait()
	if got := len(r.again(t).texts(t)) - before; got != 180 {
		t.Errorf("%d events, want 180", got)
	}
}

// TestAddToTornTail: what a dead writer left is set aside, as by Append.
func TestAddToTornTail(t *testing.T) {
	t.Parallel()
	for _, tail := range []string{`{"seq":502,"ba`, "\x00\x00\x00\x00\n"} {
		r := long(t)
		before := len(r.texts(t))
		r.write(t, append(r.bytes(t), tail...))
		if err := r.addFromOutside(t, "after"); err != nil {
			t.Fatal(err)
		}
		equal(t, "events", r.again(t).texts(t)[before:], "after")
		if len(r.tornFiles(t)) != 1 {
			t.Errorf("%q was not set aside", tail)
		}
	}
}

// TestAddBehindAHugeBatch: the last batch, which is written again, begins before what is looked at.
func TestAddBehindAHugeBatch(t *testing.T) {
	t.Parallel()
	r := newRun(t)
	var batch []pawl.Event
	for i := range 600 {
		batch = append(batch, journaltest.Text(t, fmt.Sprint(i, strings.Repeat("x", 1000))))
	}
	r.add(t, batch...)
	if err := r.addFromOutside(t, "after"); err != nil {
		t.Fatal(err)
	}
	if got := r.again(t).texts(t); len(got) != 601 {
		t.Errorf("%d events", len(got))
	}
}

// TestAddToDamage: damage near the end is found before anything is written.
func TestAddToDamage(t *testing.T) {
	t.Parallel()
	r := long(t)
	r.damaged = true
	data := r.bytes(t)
	at := len(data) - 5000
	data[at] ^= 1
	r.write(t, data)
	if err := r.addFromOutside(t, "after"); pawl.KindOf(err) != pawl.KindDamaged {
		t.Errorf("%v, want damage", err)
	}
	if now, err := os.ReadFile(r.path()); err != nil || !bytes.Equal(now, data) {
		t.Errorf("it was written to (%v)", err)
	}
	if err := journal.Add(t.Context(), r.folder, "other-20260101-000000-abcd", journaltest.Text(t, "x")); !errors.Is(err, pawl.ErrNoRun) {
		t.Errorf("%v, want no run", err)
	}
}
