package journal_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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

// TestEnded: the run's end is found behind any line, and so is that it was reopened; half a line is not looked at.
func TestEnded(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	log, err := journal.Create(folder, journaltest.Run)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, string(journaltest.Run), journal.FileName)
	seen := journal.Position{}
	look := func(after journal.Position, want bool) {
		t.Helper()
		ended, end, err := journal.Ended(folder, journaltest.Run, after)
		info, statErr := os.Stat(path)
		if err != nil || statErr != nil || ended != want || end.Offset > info.Size() || end.Offset < info.Size()-20 {
			t.Errorf("after %v: %v, %v, %v; want %v", after, ended, end, err, want)
		}
		seen = end
	}
	add := func(payloads ...pawl.Payload) {
		t.Helper()
		for _, p := range payloads {
			if _, err := log.Append(t.Context(), 0, journaltest.Event(t, p)); err != nil {
				t.Fatal(err)
			}
		}
	}
	add(pawl.RunCreated{Format: pawl.Format, Run: journaltest.Run, Kind: pawl.SessionRun, Name: "test"})
	add(pawl.MemoryLearned{Memory: pawl.Memory{Text: `"type":"run.ended"`}})
	look(journal.Position{}, false)
	look(seen, false)
	add(pawl.RunEnded{Status: pawl.StatusCompleted})
	before := seen
	look(before, true)
	look(journal.Position{}, true)
	look(seen, false) // somebody knew
	add(pawl.RunReopened{Why: "x"})
	look(before, false)
	look(journal.Position{}, false)
	add(pawl.RunEnded{Status: pawl.StatusCompleted})
	look(before, true)
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(`{"seq":9,"type":"run`)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	look(seen, false)
	if _, _, err := journal.Ended(folder, "none-20260101-000000-0000", journal.Position{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of no run: %v", err)
	}
}
